#include "plan/distance.h"

namespace prefetch::plan {

Distance AfterPollDuringPull(Distance past, bool knows_manifest, base::Duration age) {
  if (past == Distance::kNear) return past;
  if (!knows_manifest) return age >= kNearManifest ? Distance::kFar : past;
  return age <= kNearManifest + kLatePoll ? Distance::kNear : past;
}

Distance AfterPull(Distance past, base::Duration took) {
  return took <= kNearManifest ? Distance::kNear : past;
}

}  // namespace prefetch::plan
