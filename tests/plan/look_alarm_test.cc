#include "plan/look_alarm.h"

#include <gtest/gtest.h>

#include <vector>

namespace prefetch::plan::look_alarm_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const base::TimePoint kStart{seconds(1000)};

// Looks from `alarm` on, each of which takes `took`, while the runtime tells at these times. Times in ms.
std::vector<int> Looks(const std::vector<int>& told, milliseconds took = {}) {
  LookAlarm alarm;
  std::vector<int> looks;
  std::size_t next = 0;
  for (int at = 0; at < 20'000; at++) {
    const base::TimePoint now = kStart + milliseconds(at);
    while (next < told.size() && told[next] == at) {
      alarm = AfterTold(alarm, now);
      next++;
    }
    if (NextLook(alarm) > now) continue;
    looks.push_back(at);
    alarm = AfterLookEnded(AfterLookBegan(alarm, now), now + took);
  }
  return looks;
}

TEST(LookAlarm, NothingToldIsNoLook) {
  EXPECT_EQ(NextLook({}), base::TimePoint::max());
  EXPECT_EQ(Looks({}), std::vector<int>{});
}

// What CRI lists follows the events, by events of its own: one look may come too early.
TEST(LookAlarm, AChangeIsLookedAtTwiceWithinASecond) {
  EXPECT_EQ(Looks({50}), (std::vector<int>{150, 650}));
}

TEST(LookAlarm, SeveralEventsOfOneChangeAreOne) {
  EXPECT_EQ(Looks({50, 52, 60}), (std::vector<int>{150, 660}));
}

TEST(LookAlarm, AFloodIsLookedAtTwiceASecond) {
  std::vector<int> told;
  for (int at = 0; at < 10'000; at++) told.push_back(at);
  std::vector<int> looks = Looks(told);
  EXPECT_LE(looks.size(), 22U);
  EXPECT_GE(looks.size(), 19U);
  EXPECT_GE(looks.back(), 10'499);  // and once when it is over
}

TEST(LookAlarm, LooksThatTakeLongAreSeldom) {
  std::vector<int> told;
  for (int at = 0; at < 10'000; at++) told.push_back(at);
  EXPECT_LE(Looks(told, milliseconds(100)).size(), 7U);
}

TEST(WatchAgain, ABrokenStreamIsWaitedForLongerAndLonger) {
  EXPECT_EQ(WatchAgainAfter({}, 0, false), seconds(1));
  EXPECT_EQ(WatchAgainAfter({}, 1, false), seconds(2));
  EXPECT_EQ(WatchAgainAfter({}, 3, false), seconds(8));
  EXPECT_EQ(WatchAgainAfter({}, 4, false), seconds(8));
  EXPECT_EQ(WatchAgainAfter({}, 1000, false), seconds(8));
  EXPECT_EQ(WatchAgainAfter(minutes(5), 3, false), seconds(1));
  EXPECT_EQ(WatchAgainAfter({}, 0, true), minutes(10));
}

}  // namespace
}  // namespace prefetch::plan::look_alarm_test
