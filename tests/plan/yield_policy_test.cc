#include "plan/yield_policy.h"

#include <gtest/gtest.h>

namespace prefetch::plan::giving_way_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct GivingWayTest : testing::Test {
  void Look(std::map<std::string, std::uint64_t> ingests) { giving_way.Look(std::move(ingests), now); }
  void Pass(base::Duration time) { now += time; }
  bool IsDue() const { return giving_way.IsDue(now); }

  base::TimePoint now{seconds(1000)};
  YieldPolicy giving_way;
};

TEST_F(GivingWayTest, ItIsDueWhileAnotherPullMovesAndAMomentLonger) {
  Look({});
  EXPECT_FALSE(IsDue());
  Pass(kForeignPullPollInterval);
  Look({{"layer-a", 0}});
  EXPECT_TRUE(IsDue());
  Pass(kForeignPullPollInterval);
  Look({{"layer-a", 10}});
  Pass(kForeignPullIdleAfter - milliseconds(1));
  EXPECT_TRUE(IsDue());
  Look({{"layer-a", 10}});
  Pass(milliseconds(1));
  EXPECT_FALSE(IsDue());
  Look({});  // it ended: nothing moves any more
  EXPECT_FALSE(IsDue());
}

TEST_F(GivingWayTest, WhatLiesThereFromTheBeginningIsNoPull) {
  Look({{"layer-old", 7}});
  EXPECT_FALSE(IsDue());
  Look({{"layer-old", 7}});
  EXPECT_FALSE(IsDue());
  Look({{"layer-old", 8}});
  EXPECT_TRUE(IsDue());
}

TEST_F(GivingWayTest, MeanwhileARangeComesNowAndThen) {
  EXPECT_LE(giving_way.NextRange(now), now);
  giving_way.RangeEnded(now - seconds(2), now);
  EXPECT_LE(giving_way.NextRange(now), now) << "nobody else pulls";
  Look({});
  for (int i = 0; i < 3; i++) {
    Look({{"layer-a", i}});
    EXPECT_GT(giving_way.NextRange(now), now);
    Pass(milliseconds(500));
  }
  // The pause is over after four times two seconds, or when the other one moves no longer.
  EXPECT_EQ(giving_way.NextRange(now), now + milliseconds(500));
  for (int i = 10; i < 24; i++) {
    Look({{"layer-a", i}});
    Pass(milliseconds(500));
  }
  EXPECT_TRUE(IsDue());
  EXPECT_LE(giving_way.NextRange(now), now);
}

}  // namespace
}  // namespace prefetch::plan::giving_way_test
