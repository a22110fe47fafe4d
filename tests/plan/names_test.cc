#include <gtest/gtest.h>

#include "plan/reason.h"

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

}  // namespace
}  // namespace prefetch::plan::names_test
