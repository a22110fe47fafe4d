// Loop: shared by the parts of the Agent: the time of a turn, chance, jobs for workers, and whether there is
// news.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <stop_token>
#include <utility>

#include "agent/events.h"
#include "agent/workers.h"
#include "base/channel.h"
#include "base/clock.h"
#include "base/one_thread.h"

namespace prefetch::agent {

// Maximum time between two polls of the runtime, whether it sends events or not. A vanished image must be
// noticed within 10 s.
constexpr std::chrono::seconds kPollInterval{8};

// The thread of the first turn alone calls it (base/one_thread.h), but for Push and what reads the clock.
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
  // The published Snapshot overstates readiness; the next one is published without waiting for its interval.
  void Overstated() {
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

  // Any thread.
  void Push(Event event) { inbox_.Push(std::move(event)); }
  std::optional<Event> TryPop() { return inbox_.TryPop(); }
  std::optional<Event> PopUntil(base::TimePoint deadline) { return inbox_.PopUntil(deadline); }

  // Runs `job` on `pool`. The job's event arrives through the inbox; the part that absorbs it calls JobEnded.
  void Submit(Workers& pool, std::function<Event()> job) {
    JobBegan();
    pool.Submit([this, job = std::move(job)] { Push(job()); });
  }
  void JobBegan() {
    Check();
    jobs_++;
  }
  void JobEnded() {
    Check();
    jobs_--;
  }
  int jobs() const {
    Check();
    return jobs_;
  }

  // Stops every job.
  std::stop_token stopping() const { return stopping_.get_token(); }
  void Stop() { stopping_.request_stop(); }

 private:
  const base::Clock& clock_;
  base::OneThread thread_;
  std::mt19937_64 random_ PREFETCH_GUARDED_BY(thread_);
  base::TimePoint now_ PREFETCH_GUARDED_BY(thread_);
  bool changed_ PREFETCH_GUARDED_BY(thread_) = true;
  bool at_once_ PREFETCH_GUARDED_BY(thread_) = false;
  int jobs_ PREFETCH_GUARDED_BY(thread_) = 0;
  base::Channel<Event> inbox_;
  std::stop_source stopping_;
};

}  // namespace prefetch::agent
