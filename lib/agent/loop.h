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

namespace prefetch::agent {

// Interval between two polls of a runtime that sends no events. A vanished image must be noticed within 10 s.
constexpr std::chrono::seconds kPollInterval{8};

// Not thread-safe, except for Push. `clock` outlives it.
class Loop {
 public:
  Loop(const base::Clock& clock, std::uint64_t seed) : clock_(clock), random_(seed), now_(clock.Now()) {}

  void BeginTurn() { now_ = clock_.Now(); }
  // All decisions of one turn use this time.
  base::TimePoint now() const { return now_; }
  base::WallTime Wall() const { return clock_.Wall(); }
  double Random() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  // Something has changed that a Snapshot shows.
  void Changed() { changed_ = true; }
  void ChangedIf(bool changed) { changed_ = changed_ || changed; }
  // The published Snapshot overstates readiness; the next one is published without waiting for its interval.
  void Overstated() { changed_ = at_once_ = true; }
  bool changed() const { return changed_; }
  bool at_once() const { return at_once_; }
  void Published() { changed_ = at_once_ = false; }

  // Any thread.
  void Push(Event event) { inbox_.Push(std::move(event)); }
  std::optional<Event> TryPop() { return inbox_.TryPop(); }
  std::optional<Event> PopUntil(base::TimePoint deadline) { return inbox_.PopUntil(deadline); }

  // Runs `job` on `pool`. The job's event arrives through the inbox; the part that absorbs it calls JobEnded.
  void Submit(Workers& pool, std::function<Event()> job) {
    JobBegan();
    pool.Submit([this, job = std::move(job)] { Push(job()); });
  }
  void JobBegan() { jobs_++; }
  void JobEnded() { jobs_--; }
  int jobs() const { return jobs_; }

  // Stops every job.
  std::stop_token stopping() const { return stopping_.get_token(); }
  void Stop() { stopping_.request_stop(); }

 private:
  const base::Clock& clock_;
  std::mt19937_64 random_;
  base::TimePoint now_;
  bool changed_ = true;
  bool at_once_ = false;
  int jobs_ = 0;
  base::Channel<Event> inbox_;
  std::stop_source stopping_;
};

}  // namespace prefetch::agent
