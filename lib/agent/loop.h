// Loop: state that the parts of the Agent share: the time of the turn, random numbers, the inbox, the number
// of jobs, and whether anything has changed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <stop_token>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/call.h"
#include "base/channel.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/workers.h"

namespace prefetch::agent {

// Lets a worker wait until the loop has decided about its pull. If the pull may not go on, it is stopped,
// which ends the wait as well. Any thread may call.
class AdmissionDecision {
 public:
  void Set() { made_.request_stop(); }
  // Blocks until it was made, or `call` was stopped.
  void Await(const base::Call& call) {
    std::stop_callback stopped(call.stop, [this] { Set(); });
    base::Pause({.stop = made_.get_token()}, base::Duration::max() / 4);
  }

 private:
  std::stop_source made_;
};

// News for the loop. A worker's job ends with one event. A pull posts more on its way: its lease was refused,
// its size is known, its download gets on, PullImage has returned. Watches, credential lookups and servers
// post events, too.
struct Event {
  std::string_view name;        // tests tell events apart by it
  std::function<bool()> apply;  // runs on the loop's thread; false: it needs no turn
};

// Maximum time between two polls of the runtime, whether it sends events or not. A vanished image must be
// noticed within 10 s.
constexpr std::chrono::seconds kPollInterval{8};

// The thread of the first turn alone calls it (base/mutex.h), but for Post and what reads the clock.
// `clock` outlives it.
class Loop {
 public:
  Loop(const base::Clock& clock, std::uint64_t seed) : clock_(clock), random_(seed), now_(clock.Now()) {}

  // Ends the program if it is called by another thread than the loop's. The other parts of the loop call it,
  // too.
  void Check() const PREFETCH_TSA(assert_capability(thread_)) { thread_.Check(); }
  // The loop ends, or has not begun: another thread may go on.
  void Release() const { thread_.Release(); }

  void BeginTurn() {
    Check();
    now_ = clock_.Now();
  }
  // All decisions of one turn use this time.
  base::TimePoint now() const {
    Check();
    return now_;
  }
  base::WallTime Wall() const { return clock_.Wall(); }
  double Random() {
    Check();
    return std::uniform_real_distribution<double>(0, 1)(random_);
  }

  // Something has changed that a Snapshot shows.
  void Changed() { ChangedIf(true); }
  void ChangedIf(bool changed) {
    Check();
    changed_ = changed_ || changed;
  }
  // The published Snapshot overstates readiness, or is of an earlier list. The next one is published in this
  // turn, without waiting for its interval.
  void PublishAtOnce() {
    Check();
    changed_ = at_once_ = true;
  }
  bool changed() const {
    Check();
    return changed_;
  }
  bool at_once() const {
    Check();
    return at_once_;
  }
  void Published() {
    Check();
    changed_ = at_once_ = false;
  }

  // Any thread. The loop runs `apply` on its own thread. If that returns a bool, false means that nothing has
  // changed: an unchanged poll costs no turn.
  template <typename Apply>
  void Post(std::string_view name, Apply apply) {
    inbox_.Push({name, [apply = std::move(apply)]() mutable {
                   if constexpr (std::is_void_v<decltype(apply())>) {
                     apply();
                     return true;
                   } else {
                     return apply();
                   }
                 }});
  }
  // TryPop does not wait.
  std::optional<Event> TryPop() { return inbox_.TryPop(); }
  std::optional<Event> PopUntil(base::TimePoint deadline) { return inbox_.PopUntil(deadline); }

  // Runs `job` on `pool`, and posts `apply` with its result.
  template <typename Job, typename Apply>
  void Submit(base::Workers& pool, std::string_view name, Job job, Apply apply) {
    Check();
    jobs_++;
    pool.Submit([this, name, job = std::move(job), apply = std::move(apply)] {
      Post(name, [this, apply, result = job()]() mutable {
        Check();
        jobs_--;
        return apply(std::move(result));
      });
    });
  }
  // Returns the number of jobs whose result has not been applied yet.
  int jobs() const {
    Check();
    return jobs_;
  }

  // For calls of jobs, which Stop ends.
  base::Call JobCall() const { return {.stop = stopping_.get_token()}; }
  void Stop() { stopping_.request_stop(); }

 private:
  const base::Clock& clock_;
  base::ThreadChecker thread_;
  std::mt19937_64 random_ PREFETCH_GUARDED_BY(thread_);
  base::TimePoint now_ PREFETCH_GUARDED_BY(thread_);
  bool changed_ PREFETCH_GUARDED_BY(thread_) = true;
  bool at_once_ PREFETCH_GUARDED_BY(thread_) = false;
  int jobs_ PREFETCH_GUARDED_BY(thread_) = 0;
  base::Channel<Event> inbox_;
  std::stop_source stopping_;
};

}  // namespace prefetch::agent
