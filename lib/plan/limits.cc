#include "plan/limits.h"

#include <algorithm>

namespace prefetch::plan {

Limits WithThreshold(Limits limits, int kubelet_percent) {
  if (kubelet_percent <= 0) return limits;
  // The lower one counts. Above kubelet's low threshold, the next garbage collection would remove images
  // again (K41).
  if (limits.disk_high_percent && *limits.disk_high_percent <= kubelet_percent) return limits;
  limits.disk_high_percent = kubelet_percent;
  limits.percent_from_kubelet = true;
  return limits;
}

namespace {

// The shown rate is an average over at most this time and the poll after it.
constexpr std::chrono::seconds kRateWindow{10};

void Rate(ObservedProgress& progress, base::TimePoint now) {
  base::Duration window = now - progress.rate_window_start;
  // Bytes become fewer when the runtime discards an ingest (C26). The rate is then counted anew, and is never
  // negative.
  if (progress.bytes_done < progress.rated_bytes) {
    progress.rated_bytes = progress.bytes_done;
    progress.rate_window_start = now;
    progress.bytes_per_second = 0;
    return;
  }
  double took = std::chrono::duration<double>(window).count();
  if (took <= 0) return;
  progress.bytes_per_second = static_cast<double>(progress.bytes_done - progress.rated_bytes) / took;
  if (window >= kRateWindow) {
    progress.rate_window_start = now;
    progress.rated_bytes = progress.bytes_done;
  }
}

}  // namespace

ObservedProgress AfterProgress(ObservedProgress past, const image::PullProgress& seen, PullWaits waits,
                               base::TimePoint now) {
  if (!past.seen) {
    past.rate_window_start = now;
    past.rated_bytes = seen.bytes_done;
  }
  // The fingerprint changes with anything that moves, even if the sum of bytes stays equal.
  bool moved = !past.seen || seen.fingerprint != past.fingerprint;
  // The stall timer is paused during an unpack, in waits of the agent, and in the runtime's own download
  // queue (C28), since replacing such a pull would not help.
  bool held = seen.unpacking || waits.held_back || (!seen.active && waits.may_be_queued);
  if (moved || held) past.last_progress_at = now;
  const std::uint64_t came = seen.bytes_done - std::min(seen.bytes_done, past.bytes_done);
  const auto worth_it =
      static_cast<double>(kMinPullRate) *
      std::chrono::duration<double>(past.seen ? now - past.observed_at : kIdleAfter).count();
  if (held || static_cast<double>(came) >= worth_it) past.last_fast_at = now;
  if (waits.held_back && past.seen) past.held_back_for += now - past.observed_at;
  past.observed_at = now;
  past.seen = true;
  past.fingerprint = seen.fingerprint;
  past.bytes_done = seen.bytes_done;
  past.bytes_total = std::max(past.bytes_total, seen.bytes_total);
  past.unpacking = seen.unpacking;
  Rate(past, now);
  return past;
}

bool IsIdle(const ObservedProgress& progress, base::TimePoint started_at, base::TimePoint now) {
  const bool was_fast = progress.last_fast_at > started_at;
  const base::TimePoint since = std::max(progress.last_fast_at, started_at);
  // Since the last look, nobody knows. On a busy node, looks take seconds.
  if (progress.seen) now = progress.observed_at;
  return !progress.unpacking && now - since >= (was_fast ? kIdleAfter : kFirstBytesWithin);
}

namespace {

// While bytes can be seen, the larger of the two limits ends a pull: an operator's longer timeout wins.
base::TimePoint EndOfVisible(const ObservedProgress& progress, base::TimePoint started_at,
                             base::Duration pull_timeout, const Limits& limits) {
  return started_at + progress.held_back_for + std::max<base::Duration>(limits.pull_limit, pull_timeout);
}

}  // namespace

base::TimePoint NextEvaluation(const ObservedProgress& progress, bool visible, base::TimePoint started_at,
                               base::Duration pull_timeout, const Limits& limits) {
  if (!visible) return started_at + pull_timeout;
  base::TimePoint end = EndOfVisible(progress, started_at, pull_timeout, limits);
  if (progress.unpacking) return end;
  return std::min<base::TimePoint>(end,
                                   std::max(progress.last_progress_at, started_at) + limits.stall_timeout);
}

RunDecision EvaluatePull(const ObservedProgress& progress, bool visible, base::TimePoint started_at,
                         base::Duration pull_timeout, const Limits& limits, base::TimePoint now) {
  // Without bytes, a stall and a slow download look the same, so only the entry's own timeout is left.
  if (!visible) return now >= started_at + pull_timeout ? RunDecision::kEnd : RunDecision::kContinue;
  if (now >= EndOfVisible(progress, started_at, pull_timeout, limits)) return RunDecision::kEnd;
  if (now >= NextEvaluation(progress, visible, started_at, pull_timeout, limits))
    return RunDecision::kReplace;
  return RunDecision::kContinue;
}

}  // namespace prefetch::plan
