#include "plan/poll_trigger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace prefetch::plan::poll_trigger_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const base::TimePoint kStart{seconds(1000)};

// Returns the times of the looks, if the runtime reports at the times `told` and a look takes `took`; in ms.
std::vector<int> Looks(const std::vector<int>& told, milliseconds took = {}) {
  PollTrigger trigger;
  std::vector<int> looks;
  std::size_t next = 0;
  for (int at = 0; at < 20'000; at++) {
    const base::TimePoint now = kStart + milliseconds(at);
    while (next < told.size() && told[next] == at) {
      trigger = AfterRuntimeEvent(trigger, now);
      next++;
    }
    if (NextPoll(trigger) > now) continue;
    looks.push_back(at);
    trigger = AfterPollEnded(AfterPollBegan(trigger, now), now + took);
  }
  return looks;
}

// CRI's list follows the events later, by events of its own: one look may come too early.
TEST(PollTrigger, AChangeIsLookedAtTwiceWithinASecond) {
  EXPECT_EQ(Looks({50}), (std::vector<int>{150, 900}));
}

TEST(PollTrigger, SeveralEventsOfOneChangeAreOne) {
  EXPECT_EQ(Looks({50, 52, 60}), (std::vector<int>{150, 910}));
}

TEST(PollTrigger, LooksThatTakeLongAreSeldom) {
  std::vector<int> told;
  for (int at = 0; at < 10'000; at++) told.push_back(at);
  EXPECT_LE(Looks(told, milliseconds(100)).size(), 7U);
}

// An image that goes in between counts as present until the next look.
TEST(PollTrigger, SlowLooksWaitTwoSecondsOrThreeTimesAsLongAsTheyTake) {
  struct Row {
    milliseconds took;
    int next;
  };
  for (const Row& row :
       {Row{milliseconds(20), 650}, Row{milliseconds(40), 950}, Row{milliseconds(100), 2150},
        Row{milliseconds(310), 2150}, Row{milliseconds(650), 2150}, Row{milliseconds(1000), 3150}}) {
    const std::vector<int> looks = Looks({50, 200}, row.took);
    ASSERT_GE(looks.size(), 2U);
    EXPECT_EQ(looks[1], row.next) << row.took.count();
  }
}

TEST(WatchAgain, ABrokenStreamIsWaitedForLongerAndLonger) {
  EXPECT_EQ(ReconnectDelay({}, 0, false), seconds(1));
  EXPECT_EQ(ReconnectDelay({}, 1, false), seconds(2));
  EXPECT_EQ(ReconnectDelay({}, 3, false), seconds(8));
  EXPECT_EQ(ReconnectDelay({}, 4, false), seconds(8));
  EXPECT_EQ(ReconnectDelay({}, 1000, false), seconds(8));
  EXPECT_EQ(ReconnectDelay(minutes(5), 3, false), seconds(1));
  EXPECT_EQ(ReconnectDelay({}, 0, true), minutes(10));
}

struct KubeletPollsLooks {
  std::vector<int> full, glances;  // in seconds since the start
};

// From the start on, while news come at these seconds.
KubeletPollsLooks During(int span, const std::vector<int>& news = {}) {
  KubeletPollsLooks done;
  KubeletPolls looks{kStart, kStart};
  for (int at = 0; at < span; at++) {
    const base::TimePoint now = kStart + seconds(at);
    bool has_news = std::find(news.begin(), news.end(), at) != news.end();
    PollDepth look = DueKubeletPoll(looks, has_news, now);
    EXPECT_EQ(look != PollDepth::kNone, has_news || NextKubeletPoll(looks) <= now) << at;
    if (look == PollDepth::kFull) done.full.push_back(at);
    if (look == PollDepth::kQuick) done.glances.push_back(at);
    looks = AfterKubeletPollBegan(looks, look, now);
  }
  return done;
}

TEST(KubeletPolls, ThreeOfFourAreAGlance) {
  KubeletPollsLooks looks = During(20);
  EXPECT_EQ(looks.full, (std::vector<int>{0, 8, 16}));
  EXPECT_EQ(looks.glances, (std::vector<int>{2, 4, 6, 10, 12, 14, 18}));
}

TEST(KubeletPolls, NewsAreLookedAtInFullAndAtOnce) {
  KubeletPollsLooks looks = During(14, {3, 4});
  EXPECT_EQ(looks.full, (std::vector<int>{0, 3, 4, 12}));
  EXPECT_EQ(looks.glances, (std::vector<int>{2, 6, 8, 10}));
}

}  // namespace
}  // namespace prefetch::plan::poll_trigger_test
