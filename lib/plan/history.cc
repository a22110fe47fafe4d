#include "plan/history.h"

#include <algorithm>

namespace prefetch::plan {

namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr seconds kTransientBackoffBase{2};
constexpr minutes kTransientBackoffCap{5};
constexpr minutes kSlowBase{5};
constexpr hours kSlowCap{1};
// Transient failures in a row after which nothing waits for the entry: about a minute's worth. Retries go on.
constexpr int kFailuresUntilSettled = 6;

// An image that disappears several times within this period was evicted by kubelet, not replaced by an
// operator.
constexpr hours kEvictionMemory{2};
constexpr std::size_t kEvictionsUntilBackoff = 3;
constexpr minutes kEvictionBase{5};
// The first one that counts waits for kEvictionBase, and the fifth for kSlowCap. More need not be remembered.
constexpr std::size_t kEvictionsRemembered = kEvictionsUntilBackoff + 4;

// An image becomes a suspect when the runtime ends under its pulls this many times in a row. One end may be a
// restart.
constexpr int kOutagesUntilSuspect = 2;
// A pull that lasted this long, and has more bytes than the one before, would end well without further
// restarts.
constexpr minutes kMinProgressTime{1};
// Others were pulled at the time as well, so most suspects are none: each is soon tried alone.
constexpr seconds kBeforeTriedAlone{10};

// Time in which an operator's request for a retry waives pull windows. A request that starts no pull, for
// want of room, must not waive them for days.
constexpr std::chrono::hours kRequestWaivesWindows{1};

base::Duration Delay(Retry retry, int failures, double random) {
  switch (retry) {
    case Retry::kNoRetryRule:
    case Retry::kAtOnce:
      return {};
    case Retry::kTransient:
      // The first retry is immediate: the bytes of the failed pull may still be there (C26).
      if (failures <= 1) return {};
      return Scaled(ExponentialBackoff(kTransientBackoffBase, failures - 1, kTransientBackoffCap), random);
    case Retry::kSlow:
      return Spread(ExponentialBackoff(kSlowBase, failures - 1, kSlowCap), random);
    case Retry::kHourly:
      return Spread(kSlowCap, random);
    case Retry::kNever:
      return base::Duration::max();
  }
  std::abort();
}

void ForgetFailures(History& past, base::TimePoint now) {
  past.failures = past.disk_full_failures = 0;
  past.last_failure.reset();
  past.last_error.clear();
  past.not_before = now;
}

}  // namespace

bool IsRetriedLate(Reason reason) {
  return base::IsOneOf(RetryFor(reason), {Retry::kSlow, Retry::kHourly, Retry::kNever});
}

bool IsNotWorthWaitingFor(const History& past) {
  if (past.failures == 0) return false;
  return past.failures >= kFailuresUntilSettled ||
         (past.last_failure && IsRetriedLate(*past.last_failure) && !past.lacked_credential);
}

History AfterFailure(History past, const PullFailure& failure, base::TimePoint now, double random) {
  past.last_error = failure.error;
  past.last_failure = failure.reason;
  past.lacked_credential = failure.lacks_credential;
  const Retry retry = failure.lacks_credential ? Retry::kTransient : RetryFor(failure.reason);
  // The runtime is gone, which is not the image's fault. No failure is counted, and the pull goes on at once.
  if (retry == Retry::kAtOnce || retry == Retry::kNoRetryRule) {
    past.not_before = now;
    return past;
  }
  // A failure that the runtime survived breaks the row. A suspect stays one until it is pulled.
  if (!IsCrashSuspect(past)) past.suspicious_outages = 0;
  past.failures++;
  past.failed_at = now;
  past.retry_requested_at.reset();
  const bool disk_full = failure.reason == Reason::kDiskFull;
  if (disk_full) past.disk_full_failures++;
  // Failures for a full disk have their own count: a long outage of the registry must not make the first full
  // disk wait for an hour, nor the other way round.
  base::Duration delay =
      Delay(retry, disk_full ? past.disk_full_failures : past.failures - past.disk_full_failures, random);
  if (failure.retry_after) {
    delay = std::max(delay, *failure.retry_after);
    past.retry_after_until = now + *failure.retry_after;
  }
  past.not_before = delay == base::Duration::max() ? base::TimePoint::max() : now + delay;
  past.settled = past.settled || IsNotWorthWaitingFor(past);
  return past;
}

bool IsCrashSuspect(const History& past) {
  return past.suspicious_outages >= kOutagesUntilSuspect;
}

History AfterRuntimeOutage(History past, const PullFailure& failure, const InterruptedRun& run,
                           base::TimePoint now, double random) {
  // An image that gets on under restarts is more likely their victim than their cause, so the row begins
  // anew.
  const bool made_progress = run.took >= kMinProgressTime && run.bytes > past.bytes_at_last_outage;
  // Once only: a suspect that ran beside others gets the benefit of the doubt. `second_chance_used` stays set
  // until the image makes progress, so a runtime that always ends beside others still makes the row grow.
  const bool in_doubt = IsCrashSuspect(past) && run.beside_others && !past.second_chance_used;
  past.second_chance_used = !made_progress && (in_doubt || past.second_chance_used);
  if (!in_doubt) past.suspicious_outages++;
  if (made_progress) past.suspicious_outages = 1;
  past.bytes_at_last_outage = std::max(past.bytes_at_last_outage, run.bytes);  // 0: not looked at yet
  if (!IsCrashSuspect(past)) return AfterFailure(std::move(past), failure, now, random);
  const bool settled = past.settled;
  const bool tried_alone = past.suspicious_outages > kOutagesUntilSuspect;
  std::string text =
      "suspected of ending the container runtime, which went away " +
      std::to_string(past.suspicious_outages) +
      " times in a row while this image was pulled; it is tried again without another suspect: " +
      failure.error;
  past = AfterFailure(std::move(past), {.reason = Reason::kRuntimeCrashed, .error = std::move(text)}, now,
                      random);
  if (tried_alone) return past;
  // The attempt alone comes within seconds, and decides. Until then the entry is no more settled than before.
  past.settled = settled;
  past.not_before = now + Spread(kBeforeTriedAlone, random);
  return past;
}

History AfterSuccess(History past, const PullSuccess& success, base::TimePoint now) {
  // An image that was not unpacked is no full success: its failures go on counting.
  if (success.local.unpacked) ForgetFailures(past, now);
  past.disk = AfterDiskSpaceFound(past.disk);
  past.retry_requested_at.reset();
  past.suspicious_outages = 0;
  past.bytes_at_last_outage = 0;
  past.second_chance_used = false;
  past.pulled_id = success.local.id;
  past.pulled_at = now;
  past.origin = success.origin;
  past.settled = past.settled || success.local.unpacked;
  return past;
}

History AfterNewCredentials(History past, base::TimePoint now) {
  // Every other failure keeps its pause: new credentials change nothing about it. A registry may answer 404
  // for what a login may not see (R23).
  const bool for_its_credential = past.last_failure == Reason::kAccessDenied ||
                                  past.last_failure == Reason::kBadCredentialFormat ||
                                  past.last_failure == Reason::kNotFound;
  if (for_its_credential && past.not_before > now) past.not_before = now;
  return past;
}

History AfterRetryRequested(History past, base::TimePoint now, base::WallTime wall) {
  if (past.not_before > now) past.not_before = std::max(now, past.retry_after_until);
  past.retry_requested_at = wall;
  past.windows_waived_until = now + kRequestWaivesWindows;
  return past;
}

History AfterUpdateObsolete(History past, base::TimePoint now) {
  past.suspicious_outages = 0;
  ForgetFailures(past, now);
  return past;
}

History AfterVanished(History past, base::TimePoint now) {
  // The earlier failures were about getting the image here, and it was here since.
  past.attempts = 0;
  ForgetFailures(past, now);
  std::erase_if(past.vanished, [now](base::TimePoint at) { return now - at > kEvictionMemory; });
  past.vanished.push_back(now);
  // The oldest time goes, so that the history of an image that is evicted all the time stays short.
  if (past.vanished.size() > kEvictionsRemembered) past.vanished.erase(past.vanished.begin());
  if (IsEvictedRepeatedly(past)) {
    int beyond = static_cast<int>(past.vanished.size() - kEvictionsUntilBackoff);
    const base::Duration pause = ExponentialBackoff(kEvictionBase, beyond, kSlowCap);
    // kubelet cannot take away an image that is not there. If our own pause counted, a long one would make
    // the evictions before it look old, and the image would be pulled at once again.
    for (base::TimePoint& at : past.vanished) at += pause;
    past.not_before = now + pause;
    past.last_failure = Reason::kEvictedByKubelet;
    past.last_error =
        "taken away " + std::to_string(past.vanished.size()) + " times within two hours, without the pauses";
  }
  return past;
}

bool IsEvictedRepeatedly(const History& past) {
  return past.vanished.size() >= kEvictionsUntilBackoff;
}

}  // namespace prefetch::plan
