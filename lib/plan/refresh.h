// DecideRefresh: a registry's answers about a present image -> whether to pull it again, and the effect on
// readiness. Registry rules R44 and R45; the table is refresh_test.cc. Pure.
//
// Digests have no order (R13): a tag has *changed*, never is anything newer. Nothing here ever removes an
// image, and while it is being pulled again, and when that fails, the local image stays in use.
#pragma once

#include "plan/freshness.h"

namespace prefetch::plan {

struct RefreshDecision {
  bool pull = false;  // due, but for back-off
  Reason pull_reason = Reason::kTagMoved;
  // Nothing that the registry said, or did not say, stands against using the local image, by the directives.
  bool ready = true;
  // A pod with Always would pass: the tag is there, access is given, it points to what is here, and all that
  // was confirmed within 2 x refreshInterval.
  bool agrees = false;
  bool fresh = false;  // the registry agreed lately
  // Why it is not ready, or not fresh; kUpToDate if it is both; kPresent where the registry is not asked.
  Reason reason = Reason::kPresent;
  // Why `agrees` is false; kUpToDate if it is true.
  Reason always_reason = Reason::kNotChecked;

  friend bool operator==(const RefreshDecision&, const RefreshDecision&) = default;
};

RefreshDecision DecideRefresh(const DesiredImage& want, const Local& local, const Freshness& past,
                              base::TimePoint now);

// When the decision may change though nothing is heard: a directive's time, an age; max(): never.
base::TimePoint NextRefreshChange(const DesiredImage& want, const Freshness& past, base::TimePoint now);

}  // namespace prefetch::plan
