// The stall rule: a pull that moves is ended only at its time limit, or for want of room
// (plan/disk_budget.h). One that does not move is replaced.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"
#include "plan/limits.h"

namespace prefetch::plan {

// A pull that brings fewer bytes a second during this time leaves its place to other registries.
constexpr std::uint64_t kPullFloor = 16 * 1024;
constexpr std::chrono::seconds kIdleAfter{5};

// The observed progress of one running pull. A value: agent::Pulls keeps it in the ActivePull, and updates it
// after each reading of progress.
struct Movement {
  base::TimePoint last_progress_at;  // when anything moved last, or the clock was held
  std::uint64_t fingerprint = 0;
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_total = 0;
  bool seen = false;  // the runtime has shown us this pull at all
  bool unpacking = false;
  double bytes_per_second = 0;
  base::TimePoint last_fast_at;  // when it was above kPullFloor last, unpacked, or was held
  base::TimePoint observed_at;
  base::TimePoint rate_window_start;  // since when, and from how many bytes, the rate is counted
  std::uint64_t rated_bytes = 0;
};

struct ProgressFacts {
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_total = 0;
  std::uint64_t fingerprint = 0;
  bool active = false;
  bool unpacking = false;
  // The runtime lets few downloads through at a time, and others of ours or kubelet's move just now: this
  // one may be waiting in its queue (containerd 2.1 and later).
  bool may_be_queued = false;
};

Movement AfterProgress(Movement past, const ProgressFacts& seen, base::TimePoint now);

// Returns true if no bytes have come for kIdleAfter at a speed that is worth a place. A pull that has just
// begun has its place like any other, so that the limit of parallel pulls holds while registries answer.
bool IsIdle(const Movement& movement, base::TimePoint started_at, base::TimePoint now);

enum class PullVerdict {
  kContinue,
  kReplace,  // stalled: start a new pull first, then cancel this one
  kEnd,      // its time is over
};

// `visible`: the runtime shows bytes. If not, `pull_timeout` is the one deadline.
PullVerdict EvaluatePull(const Movement& movement, bool visible, base::TimePoint started_at,
                         base::Duration pull_timeout, const Limits& limits, base::TimePoint now);

// When EvaluatePull may change its mind if nothing is seen until then.
base::TimePoint NextEvaluation(const Movement& movement, bool visible, base::TimePoint started_at,
                               base::Duration pull_timeout, const Limits& limits);

}  // namespace prefetch::plan
