// One registry as pulls see it: whether it answers (RegistryHealth), and how far away it is (Distance). Pure;
// the loop keeps one of each for each registry. RegistryPace is the same for registry checks, and FetchHealth
// (plan/fetch_order.h) for downloads of the agent.
#pragma once

#include <chrono>

#include "base/clock.h"
#include "plan/reason.h"

namespace prefetch::plan {

// Recent failures of one registry. A failing registry gets one probe at a time. More requests would hit it
// all at once when it comes back, and would hold slots that other registries could use.
struct RegistryHealth {
  // Consecutive failures over all images: rate limited, unreachable, DNS, TLS, server error, timeout (the
  // runtime's, or the end of the pull's own deadline).
  int failures = 0;
  Reason failure = Reason::kUnreachable;  // the newest of them
  int rate_limit_waves = 0;  // waves of 429 among these: answers to pulls that ran side by side are one wave
  base::TimePoint not_before;
  base::TimePoint limited_until;
};

// A pull has failed for `reason`, and its registry is the cause. `retry_after`: 0 if the registry named no
// time. `random` is uniform in [0, 1).
RegistryHealth AfterRegistryFailure(RegistryHealth past, Reason reason, base::Duration retry_after,
                                    base::TimePoint now, double random);

// A request to pull an image of this registry now ends its hold. It shortens no rate limit: neither a
// Retry-After, nor the hold after a 429 without one. A registry that failed again and again still gets one
// pull at a time.
RegistryHealth AfterRetryRequested(RegistryHealth past, base::TimePoint now);

// Returns true if the registry has not been held for an hour. Its state may then be discarded, if no entry
// uses the registry.
bool CanDiscard(const RegistryHealth& health, base::TimePoint now);

// How far away a registry is, judged by the pulls of this process. Each pull from a far registry waits for
// several round trips before its first layer moves, so more pulls at a time keep the link busy
// (Limits::parallel_pulls_far).
enum class Distance {
  kUnknown,
  kFar,
  kNear,  // for good: what is slow at a near registry has other causes
};

// A registry counts as near if its manifest is here within this time after the pull began.
constexpr std::chrono::milliseconds kNearManifest{250};
// A poll that comes this much later than kNearManifest still counts as in time. A still later one that finds
// the manifest decides nothing: it does not show when the manifest came.
constexpr std::chrono::milliseconds kLatePoll{150};

// After a poll of a running pull that is `age` old. `knows_manifest`: the runtime has its manifest.
Distance AfterPollDuringPull(Distance past, bool knows_manifest, base::Duration age);
// After a pull that succeeded in `took`.
Distance AfterPull(Distance past, base::Duration took);

}  // namespace prefetch::plan
