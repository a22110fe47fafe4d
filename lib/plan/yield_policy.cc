#include "plan/yield_policy.h"

#include <algorithm>
#include <utility>

namespace prefetch::plan {

// Ingests of the first poll may be remnants of long ago, so they count from the second poll on. A new one
// counts at once.
void YieldPolicy::Observe(std::map<std::string, std::uint64_t> ingests, base::TimePoint now) {
  const bool moved = observed_ && std::any_of(ingests.begin(), ingests.end(), [&](const auto& one) {
                       auto before = ingests_.find(one.first);
                       return before == ingests_.end() || before->second != one.second;
                     });
  if (moved) moved_until_ = now + kForeignPullIdleAfter;
  observed_ = true;
  ingests_ = std::move(ingests);
}

bool YieldPolicy::IsDue(base::TimePoint now) const {
  return now < moved_until_;
}

base::TimePoint YieldPolicy::NextBurst(base::TimePoint now) const {
  // If the other pull does not move until `moved_until_`, the pause is pointless.
  return IsDue(now) ? std::min(pause_until_, moved_until_) : now;
}

void YieldPolicy::BurstEnded(base::TimePoint began, base::TimePoint now) {
  pause_until_ = now + kPauses * (now - began);
}

}  // namespace prefetch::plan
