// Limits: maximum parallel work, and the time limits of pulls. Each is a field of the configuration file
// (limits: in AgentConfiguration) with the default that stands here; parallelPullsFar is parallelPulls if
// that is configured.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "image/pull_progress.h"

namespace prefetch::plan {

// No time among the limits may be longer (config/config_file.cc).
inline constexpr std::chrono::seconds kLongestLimit = std::chrono::hours(24);

struct Limits {
  int parallel_pulls = 4;             // until every entry has been settled once
  int parallel_pulls_when_ready = 2;  // afterwards: pods' own pulls come first then
  int per_registry_pulls = 4;
  // Until then, in all and from each far registry (plan/schedule.h). A value not above parallel_pulls has
  // no effect.
  int parallel_pulls_far = 8;
  // On a settled node, at most one pull at a time may be larger than this.
  std::uint64_t large_image_bytes = 2ULL << 30;
  // A pull may start, and go on, while the image filesystem keeps this much free and stays below this usage.
  // The lower usage counts: this one, or kubelet's imageGCLowThresholdPercent where it is known; 80 %, its
  // default, where neither is (K41).
  std::uint64_t disk_min_free_bytes = 5ULL << 30;
  std::optional<int> disk_high_percent;
  bool percent_from_kubelet = false;  // WithThreshold took kubelet's
  // If the runtime reports progress (containerd), a pull without progress for `stall_timeout` is replaced. A
  // pull ends after `pull_limit` or the entry's pullTimeout, whichever is longer. If the runtime reports
  // none, pullTimeout is the only limit.
  std::chrono::seconds stall_timeout{600};
  std::chrono::seconds pull_limit{7200};
  // A node begins to pull a new list at a random moment within this time. For fleets of more than about 500
  // nodes: they do not all ask at the same moment (deploy/docs/fleets.md).
  std::chrono::seconds start_jitter{0};
  // The agent's own downloads in a second (--fetch=auto), from all registries together; 0: no limit.
  std::uint64_t download_bytes_per_second = 0;

  friend bool operator==(const Limits&, const Limits&) = default;
};

// `limits` with kubelet's threshold; 0: not known.
Limits WithThreshold(Limits limits, int kubelet_percent);

// ---- The stall rule: a pull that makes progress ends only at its time limit, or for lack of disk space
// (plan/disk_budget.h). A stalled pull is replaced.

// A pull that brings fewer bytes a second during this time leaves its slot to other registries.
constexpr std::uint64_t kMinPullRate = 16 * 1024;
constexpr std::chrono::seconds kIdleAfter{5};
// A pull whose bytes have never come at that speed leaves it sooner: its registry may hang.
constexpr std::chrono::seconds kFirstBytesWithin{1};

// The observed progress of one running pull. A value: agent::Pulls keeps it in the ActivePull, and updates it
// after each reading of progress.
struct ObservedProgress {
  // Last time that anything moved, or that the stall timer was paused (unpacking, waits of the agent or in
  // containerd's queue).
  base::TimePoint last_progress_at;
  std::uint64_t fingerprint = 0;
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_total = 0;
  bool seen = false;  // the runtime has shown us this pull at all
  bool unpacking = false;
  double bytes_per_second = 0;
  base::TimePoint last_fast_at;  // last time above kMinPullRate, or that the stall timer was paused
  base::TimePoint observed_at;
  base::Duration held_back_for{0};    // PullWaits::held_back: no part of the pull's time
  base::TimePoint rate_window_start;  // since when, and from how many bytes, the rate is counted
  std::uint64_t rated_bytes = 0;
};

// Facts that may keep the bytes of a pull from moving, though nothing is wrong.
struct PullWaits {
  // The runtime lets few downloads through at a time, and others of ours or kubelet's move just now: this
  // one may be waiting in its queue (containerd 2.1 and later).
  bool may_be_queued = false;
  // The agent downloads it, and waits on purpose: for kubelet's pulls, for layers of other images, or until
  // its PullImage may run.
  bool held_back = false;
};

// The progress of a running pull was polled.
ObservedProgress AfterProgress(ObservedProgress past, const image::PullProgress& seen, PullWaits waits,
                               base::TimePoint now);

// Returns true if no bytes have come for kIdleAfter, or kFirstBytesWithin of its start, at a speed that is
// worth a slot. A pull that has just begun has its slot like any other, so that the limit of parallel pulls
// holds while registries answer.
bool IsIdle(const ObservedProgress& progress, base::TimePoint started_at, base::TimePoint now);

// Returns true if bytes come at a speed that is worth a slot.
inline bool IsDelivering(const ObservedProgress& progress) {
  return progress.bytes_per_second >= static_cast<double>(kMinPullRate);
}

// The decision about a running pull; no verdict of kubelet.
enum class RunDecision {
  kContinue,
  kReplace,  // stalled: start a new pull first, then cancel this one
  kEnd,      // its time is over
};

// `visible`: the runtime shows bytes. If not, `pull_timeout` is the one deadline.
RunDecision EvaluatePull(const ObservedProgress& progress, bool visible, base::TimePoint started_at,
                         base::Duration pull_timeout, const Limits& limits, base::TimePoint now);

// Returns the time at which EvaluatePull may decide otherwise without new progress.
base::TimePoint NextEvaluation(const ObservedProgress& progress, bool visible, base::TimePoint started_at,
                               base::Duration pull_timeout, const Limits& limits);

}  // namespace prefetch::plan
