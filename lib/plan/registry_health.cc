#include "plan/registry_health.h"

#include <algorithm>

#include "image/registry_answer.h"

namespace prefetch::plan {

namespace {

// The health of a registry that no entry uses is forgotten this long after its last hold.
constexpr std::chrono::hours kRegistryForgottenAfter{1};

}  // namespace

bool CanDiscard(const RegistryHealth& health, base::TimePoint now) {
  return now >= std::max(health.not_before, health.limited_until) + kRegistryForgottenAfter;
}

RegistryHealth AfterRegistryFailure(RegistryHealth past, Reason reason, base::Duration retry_after,
                                    base::TimePoint now, double random) {
  const bool rate_limited = reason == Reason::kRateLimited;
  past.failures++;
  past.failure = reason;
  base::Duration delay{};
  if (rate_limited) {
    // Answers to pulls that ran side by side are one wave. Counted one by one, four pulls would double the
    // pause four times.
    if (now >= past.limited_until) past.rate_limit_waves++;
    delay = std::max(image::kRateLimitCircuit.PauseAfter(past.rate_limit_waves), retry_after);
    // Jitter only adds here: a registry must not be asked before the time that it named.
    delay += std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(delay) * random / 10);
  } else {
    delay = image::kPullCircuit.PauseAfter(past.failures);
    delay = std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(delay) * random);
  }
  // A later failure never shortens a hold, such as that of a 429.
  past.not_before = std::max(past.not_before, now + delay);
  if (rate_limited) past.limited_until = past.not_before;
  return past;
}

RegistryHealth AfterRetryRequested(RegistryHealth past, base::TimePoint now) {
  past.not_before = std::min(past.not_before, std::max(past.limited_until, now));
  return past;
}

Distance AfterPollDuringPull(Distance past, bool knows_manifest, base::Duration age) {
  // kNear is for good. A manifest that is still missing after kNearManifest shows a far registry, and one
  // that is here by then a near one. Between the two, a late poll may have missed the moment, so it decides
  // nothing.
  if (past == Distance::kNear) return past;
  if (!knows_manifest) return age >= kNearManifest ? Distance::kFar : past;
  return age <= kNearManifest + kLatePoll ? Distance::kNear : past;
}

Distance AfterPull(Distance past, base::Duration took) {
  // A whole pull within the time of a manifest: polls come too seldom to see such a pull. A slow pull shows
  // nothing, since its size may be the reason.
  return took <= kNearManifest ? Distance::kNear : past;
}

}  // namespace prefetch::plan
