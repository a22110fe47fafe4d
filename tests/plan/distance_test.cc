#include "plan/registry_health.h"

#include <gtest/gtest.h>

#include <chrono>

namespace prefetch::plan::distance_test {
namespace {

using std::chrono::milliseconds;
using enum Distance;

struct Look {
  Distance past;
  bool knows_manifest;
  int age_ms;
  Distance expected;
};

TEST(Distance, AfterLooks) {
  for (const Look& look : {
           Look{kUnknown, true, 250, kNear},     //
           Look{kUnknown, true, 400, kNear},     //
           Look{kUnknown, true, 401, kUnknown},  // the look came late, and shows nothing
           Look{kUnknown, false, 249, kUnknown}, Look{kUnknown, false, 250, kFar},
           Look{kUnknown, false, 5000, kFar}, Look{kFar, true, 500, kFar},
           Look{kFar, true, 260, kNear},    // the first ones waited for something else
           Look{kNear, false, 5000, kNear}  // so does this one
       }) {
    EXPECT_EQ(AfterPollDuringPull(look.past, look.knows_manifest, milliseconds(look.age_ms)), look.expected)
        << look.knows_manifest << " at " << look.age_ms << " ms";
  }
}

TEST(Distance, APullThatIsOverSoonIsNear) {
  EXPECT_EQ(AfterPull(kUnknown, milliseconds(250)), kNear);
  EXPECT_EQ(AfterPull(kFar, milliseconds(100)), kNear);
  EXPECT_EQ(AfterPull(kUnknown, milliseconds(251)), kUnknown);
  EXPECT_EQ(AfterPull(kFar, milliseconds(900)), kFar);
}

}  // namespace
}  // namespace prefetch::plan::distance_test
