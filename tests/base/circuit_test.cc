#include "base/token_bucket.h"

#include <gtest/gtest.h>

namespace prefetch::base::circuit_test {
namespace {

using std::chrono::seconds;

TEST(Circuit, OpensAfterSoManyFailuresAndEachTimeForLonger) {
  constexpr Circuit kCircuit{.failures = 3, .first = seconds(10), .longest = seconds(35)};
  EXPECT_FALSE(kCircuit.IsOpen(2));
  EXPECT_TRUE(kCircuit.IsOpen(3));
  const seconds pauses[] = {seconds(0),  seconds(0),  seconds(0), seconds(10),
                            seconds(20), seconds(35), seconds(35)};
  for (int failures = 0; failures < 7; failures++) {
    EXPECT_EQ(kCircuit.PauseAfter(failures), pauses[failures]) << failures;
  }
  EXPECT_EQ(kCircuit.PauseAfter(1'000'000'000), seconds(35));
}

TEST(Circuit, ItsPausesCountFromTheFirst) {
  constexpr Circuit kCircuit{.failures = 3, .first = seconds(10), .longest = seconds(35)};
  EXPECT_EQ(kCircuit.Pause(1), seconds(10));
  EXPECT_EQ(kCircuit.Pause(2), seconds(20));
  EXPECT_EQ(kCircuit.Pause(3), seconds(35));
}

}  // namespace
}  // namespace prefetch::base::circuit_test
