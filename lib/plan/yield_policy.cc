#include "plan/yield_policy.h"

#include <algorithm>
#include <utility>

namespace prefetch::plan {

// Ingests of the first look may be remnants of long ago, so they count from the second look on. A new one
// counts at once.
void YieldPolicy::Look(std::map<std::string, std::uint64_t> ingests, base::TimePoint now) {
  const bool moved = looked_ && std::any_of(ingests.begin(), ingests.end(), [&](const auto& one) {
                       auto before = ingests_.find(one.first);
                       return before == ingests_.end() || before->second != one.second;
                     });
  if (moved) moved_until_ = now + kForeignPullIdleAfter;
  looked_ = true;
  ingests_ = std::move(ingests);
}

bool YieldPolicy::IsDue(base::TimePoint now) const {
  return now < moved_until_;
}

base::TimePoint YieldPolicy::NextRange(base::TimePoint now) const {
  // If the other pull does not move until `moved_until_`, the pause is pointless.
  return IsDue(now) ? std::min(pause_until_, moved_until_) : now;
}

void YieldPolicy::RangeEnded(base::TimePoint began, base::TimePoint now) {
  pause_until_ = now + kPauses * (now - began);
}

}  // namespace prefetch::plan
