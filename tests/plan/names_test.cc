#include <gtest/gtest.h>

#include <string>
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
    EXPECT_FALSE(base::EnumName(reason).empty());
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
    EXPECT_EQ(base::EnumName(ReasonFor(reason)), base::EnumName(reason));
  }
}

TEST(RefreshName, IsTheWordOfLists) {
  EXPECT_EQ(base::EnumName(Refresh::kIfDigestChanged), "IfDigestChanged");
  EXPECT_EQ(base::EnumName(Refresh::kIfNotPresent), "IfNotPresent");
}

// Labels of metrics and fields of the log: operators' queries hold them.
TEST(TouchObstacleNames, AreTheOnesOfTheirConstants) {
  EXPECT_EQ(
      base::NamesOf<TouchObstacle>(),
      (std::vector<std::string>{"None", "NoNodeCredentials", "PullSecret", "TokenProvider", "RegistryTrouble",
                                "PullFailed", "NotRecorded", "RecordsNeverMatch", "Admission", "Quota",
                                "NamespaceMissing", "Forbidden", "ApiServer", "PodNeverRan"}));
}

}  // namespace
}  // namespace prefetch::plan::names_test
