#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "base/enum_name.h"
#include "plan/desired.h"
#include "plan/reason.h"
#include "plan/touch.h"

namespace prefetch::plan::names_test {
namespace {

TEST(ReasonFor, EveryErrorClassHasOne) {
  for (int i = 0; i <= static_cast<int>(image::ErrorClass::kUnknown); i++) {
    Reason reason = ReasonFor(static_cast<image::ErrorClass>(i));
    EXPECT_FALSE(ReasonName(reason).empty());
  }
  EXPECT_EQ(ReasonFor(image::ErrorClass::kAccessDenied), Reason::kAccessDenied);
  EXPECT_EQ(ReasonFor(image::ErrorClass::kRuntimeProgressTimeout), Reason::kStalled);
}

// One word for one thing: a verdict's reason is spelled the same wherever it is shown.
TEST(ReasonFor, AVerdictsReasonKeepsItsName) {
  using kubelet::VerdictReason;
  for (int i = 0; i <= static_cast<int>(VerdictReason::kFactsUnknown); i++) {
    auto reason = static_cast<VerdictReason>(i);
    if (reason == VerdictReason::kInvalidImageName) continue;  // a list cannot hold such a name
    EXPECT_EQ(ReasonName(ReasonFor(reason)), kubelet::VerdictReasonName(reason));
  }
}

TEST(RefreshName, IsTheWordOfLists) {
  EXPECT_EQ(base::EnumName(Refresh::kIfDigestChanged), "IfDigestChanged");
  EXPECT_EQ(base::EnumName(Refresh::kIfNotPresent), "IfNotPresent");
}

// Labels of metrics and fields of the log: operators' queries hold them.
TEST(TouchObstacleName, IsTheOneOfItsConstant) {
  std::vector<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(kLastTouchObstacle); i++) {
    names.push_back(TouchObstacleName(static_cast<TouchObstacle>(i)));
  }
  EXPECT_EQ(names, (std::vector<std::string_view>{
                       "None", "NoNodeCredentials", "PullSecret", "TokenProvider", "RegistryTrouble",
                       "PullFailed", "NotRecorded", "RecordsNeverMatch", "Admission", "Quota",
                       "NamespaceMissing", "Forbidden", "ApiServer", "PodNeverRan"}));
}

}  // namespace
}  // namespace prefetch::plan::names_test
