#include "plan/fetch_choice.h"

#include <cstdint>
#include <vector>

#include "base/text.h"

namespace prefetch::plan {
namespace {

// A version that does not parse counts as older, so the runtime fetches by itself.
bool IsAtLeast21(std::string_view version) {
  const std::vector<std::uint64_t> numbers = base::LeadingNumbers(version, 2);
  return numbers.size() == 2 && numbers >= std::vector<std::uint64_t>{2, 1};
}

}  // namespace

std::string_view FetchReasonName(FetchReason reason) {
  switch (reason) {
    case FetchReason::kSetting:
      return "Setting";
    case FetchReason::kRuntime:
      return "Runtime";
    case FetchReason::kSnapshotter:
      return "Snapshotter";
    case FetchReason::kHosts:
      return "Hosts";
    case FetchReason::kTrouble:
      return "Trouble";
    case FetchReason::kNear:
      return "Near";
    case FetchReason::kFar:
      return "Far";
  }
  std::abort();
}

bool MayFetch(bool automatic, std::string_view runtime, std::string_view version) {
  return automatic && runtime == "containerd" && IsAtLeast21(version);
}

FetchChoice ChooseFetch(const FetchFacts& facts, base::TimePoint now) {
  // The order is that of certainty: what the operator set, what the runtime is, what its configuration
  // allows, and only then what was observed on the network. The first obstacle is the reported reason.
  if (!facts.automatic) return {FetchBy::kRuntime, FetchReason::kSetting};
  if (!MayFetch(true, facts.runtime, facts.version)) return {FetchBy::kRuntime, FetchReason::kRuntime};
  if (facts.snapshotter != "overlayfs") return {FetchBy::kRuntime, FetchReason::kSnapshotter};
  if (!facts.followed) return {FetchBy::kRuntime, FetchReason::kHosts};
  if (now < facts.health.failed_until) return {FetchBy::kRuntime, FetchReason::kTrouble};
  if (now < facts.health.near_until) return {FetchBy::kRuntime, FetchReason::kNear};
  return {FetchBy::kAgent, FetchReason::kFar};
}

bool MayAskSize(const FetchHealth& health, base::TimePoint now) {
  // `near_until` has to be in the future: an unknown registry counts as far, and far ones are not asked.
  return now < health.near_until && now >= health.failed_until && now >= health.denied_until;
}

FetchHealth AfterFetchFailed(FetchHealth health, base::TimePoint now) {
  health.failed_until = now + kFetchOffPeriod;
  return health;
}

FetchHealth AfterLimited(FetchHealth health, std::optional<base::Duration> retry_after, base::TimePoint now) {
  if (retry_after) health.limited_until = now + *retry_after;
  return AfterFetchFailed(health, now);
}

FetchHealth AfterSizeDenied(FetchHealth health, base::TimePoint now) {
  health.denied_until = now + kFetchOffPeriod;
  return health;
}

FetchHealth AfterManifest(FetchHealth health, base::Duration answer_time,
                          std::optional<base::Duration> round_trip, base::TimePoint now) {
  // `near_until` only grows. A slow answer after quick ones does not make a registry far before the time is
  // over.
  const bool beside_us = round_trip && *round_trip < kNearRoundTrip;
  if (answer_time < (beside_us ? kNearAndBusy : kNearRegistry)) health.near_until = now + kFetchOffPeriod;
  return health;
}

}  // namespace prefetch::plan
