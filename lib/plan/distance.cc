#include "plan/distance.h"

namespace prefetch::plan {

Distance AfterPollDuringPull(Distance past, bool knows_manifest, base::Duration age) {
  // kNear is for good. A manifest that is still missing after kNearManifest shows a far registry, and one
  // that is here by then a near one. Between the two, a late look may have missed the moment, so it decides
  // nothing.
  if (past == Distance::kNear) return past;
  if (!knows_manifest) return age >= kNearManifest ? Distance::kFar : past;
  return age <= kNearManifest + kLatePoll ? Distance::kNear : past;
}

Distance AfterPull(Distance past, base::Duration took) {
  // A whole pull within the time of a manifest: looks come too seldom to see such a pull. A slow pull shows
  // nothing, since its size may be the reason.
  return took <= kNearManifest ? Distance::kNear : past;
}

}  // namespace prefetch::plan
