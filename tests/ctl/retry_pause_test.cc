#include "ctl/check.h"

#include <gtest/gtest.h>

#include <chrono>

namespace prefetch::ctl::retry_pause_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr base::TimePoint kNow{seconds(1000)};

std::optional<base::Duration> First(base::Duration left, base::Duration wish, double spread = 0) {
  return RetryPause(kNow + left).Next(kNow, wish, spread);
}

TEST(RetryPause, AsksAnAgentThatIsAwayTwiceASecond) {
  RetryPause pauses(kNow + seconds(2));
  EXPECT_EQ(pauses.Next(kNow, seconds(0), 0.9), milliseconds(500));
  EXPECT_EQ(pauses.Next(kNow + milliseconds(1499), seconds(0), 0.9), milliseconds(500));
  EXPECT_EQ(pauses.Next(kNow + milliseconds(1500), seconds(0), 0.9), std::nullopt);
}

TEST(RetryPause, ComesBackNotBeforeTheTimeThatTheAgentWishedAndSpreadOverIt) {
  EXPECT_EQ(First(seconds(60), seconds(1)), seconds(1));
  EXPECT_EQ(First(seconds(60), seconds(1), 0.5), milliseconds(1500));
  EXPECT_EQ(First(seconds(60), seconds(30), 0.5), milliseconds(32'500));
}

TEST(RetryPause, TriesALastTimeBeforeADeadlineThatIsEarlier) {
  RetryPause pauses(kNow + seconds(20));
  EXPECT_EQ(pauses.Next(kNow, seconds(60), 0), milliseconds(19'500));
  EXPECT_EQ(pauses.Next(kNow + milliseconds(19'500), seconds(60), 0), std::nullopt);
  EXPECT_EQ(First(seconds(20), seconds(60), 0.5), milliseconds(19'250)) << "not all at once";
}

TEST(RetryPause, AfterTheLastTryThereIsNoOther) {
  RetryPause pauses(kNow + seconds(20));
  EXPECT_EQ(pauses.Next(kNow, seconds(60), 0.9), milliseconds(19'050));
  EXPECT_EQ(pauses.Next(kNow + milliseconds(19'051), seconds(60), 0), std::nullopt);
  EXPECT_EQ(pauses.Next(kNow + milliseconds(19'051), seconds(0), 0), std::nullopt);
}

TEST(RetryPause, ATimeOfAMomentEndsAtOnce) {
  EXPECT_EQ(First(milliseconds(400), seconds(1)), std::nullopt);
}

}  // namespace
}  // namespace prefetch::ctl::retry_pause_test
