#include "plan/poll_trigger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace prefetch::plan::kubelet_looks_test {
namespace {

using std::chrono::seconds;

const base::TimePoint kStart{seconds(1000)};

struct Looks {
  std::vector<int> full, glances;  // in seconds since the start
};

// From the start on, while news come at these seconds.
Looks During(int span, const std::vector<int>& news = {}) {
  Looks done;
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
  Looks looks = During(20);
  EXPECT_EQ(looks.full, (std::vector<int>{0, 8, 16}));
  EXPECT_EQ(looks.glances, (std::vector<int>{2, 4, 6, 10, 12, 14, 18}));
}

TEST(KubeletPolls, NewsAreLookedAtInFullAndAtOnce) {
  Looks looks = During(14, {3, 4});
  EXPECT_EQ(looks.full, (std::vector<int>{0, 3, 4, 12}));
  EXPECT_EQ(looks.glances, (std::vector<int>{2, 6, 8, 10}));
}

TEST(KubeletPolls, NoneIsNone) {
  KubeletPolls looks{kStart + seconds(1), kStart + seconds(5)};
  KubeletPolls same = AfterKubeletPollBegan(looks, PollDepth::kNone, kStart);
  EXPECT_EQ(same.next_quick, looks.next_quick);
  EXPECT_EQ(same.next_full, looks.next_full);
  EXPECT_EQ(NextKubeletPoll(looks), looks.next_quick);
}

}  // namespace
}  // namespace prefetch::plan::kubelet_looks_test
