#include "plan/fetch_order.h"

#include <gtest/gtest.h>

namespace prefetch::plan::giving_way_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct GivingWayTest : testing::Test {
  void Observe(std::map<std::string, std::uint64_t> ingests) { giving_way.Observe(std::move(ingests), now); }
  void Pass(base::Duration time) { now += time; }
  bool IsDue() const { return giving_way.IsDue(now); }

  base::TimePoint now{seconds(1000)};
  YieldPolicy giving_way;
};

TEST_F(GivingWayTest, ItIsDueWhileAnotherPullMovesAndAMomentLonger) {
  Observe({});
  EXPECT_FALSE(IsDue());
  Pass(kForeignPullPollInterval);
  Observe({{"layer-a", 0}});
  EXPECT_TRUE(IsDue());
  Pass(kForeignPullPollInterval);
  Observe({{"layer-a", 10}});
  Pass(kForeignPullIdleAfter - milliseconds(1));
  EXPECT_TRUE(IsDue());
  Observe({{"layer-a", 10}});
  Pass(milliseconds(1));
  EXPECT_FALSE(IsDue());
  Observe({});  // it ended: nothing moves any more
  EXPECT_FALSE(IsDue());
}

TEST_F(GivingWayTest, WhatLiesThereFromTheBeginningIsNoPull) {
  Observe({{"layer-old", 7}});
  EXPECT_FALSE(IsDue());
  Observe({{"layer-old", 7}});
  EXPECT_FALSE(IsDue());
  Observe({{"layer-old", 8}});
  EXPECT_TRUE(IsDue());
}

TEST_F(GivingWayTest, MeanwhileARangeComesNowAndThen) {
  EXPECT_LE(giving_way.NextBurst(now), now);
  giving_way.BurstEnded(now - seconds(2), now);
  EXPECT_LE(giving_way.NextBurst(now), now) << "nobody else pulls";
  Observe({});
  for (int i = 0; i < 3; i++) {
    Observe({{"layer-a", i}});
    EXPECT_GT(giving_way.NextBurst(now), now);
    Pass(milliseconds(500));
  }
  // The pause is over after four times two seconds, or when the other one moves no longer.
  EXPECT_EQ(giving_way.NextBurst(now), now + milliseconds(500));
  for (int i = 10; i < 24; i++) {
    Observe({{"layer-a", i}});
    Pass(milliseconds(500));
  }
  EXPECT_TRUE(IsDue());
  EXPECT_LE(giving_way.NextBurst(now), now);
}

}  // namespace
}  // namespace prefetch::plan::giving_way_test
