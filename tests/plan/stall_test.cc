#include "plan/limits.h"

#include <gtest/gtest.h>

namespace prefetch::plan::stall_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
const base::TimePoint kStart{seconds(1000)};

struct Rig {
  ObservedProgress progress{.last_progress_at = kStart};
  base::TimePoint now = kStart;
  void See(base::Duration later, ProgressFacts facts) {
    now += later;
    progress = AfterProgress(progress, facts, now);
  }
  RunDecision EvaluateImage(bool visible = true) {
    return EvaluatePull(progress, visible, kStart, minutes(60), {}, now);
  }
};

TEST(Stall, ATrickleOfTwelveMinutesIsNotKilled) {
  Rig rig;
  for (std::uint64_t i = 1; i <= 72; i++) {
    rig.See(seconds(10), {.bytes_done = i, .bytes_total = 1000, .fingerprint = i, .active = true});
    EXPECT_EQ(rig.EvaluateImage(), RunDecision::kContinue);
  }
}

TEST(Stall, TenMinutesWithoutAByteAreReplaced) {
  Rig rig;
  rig.See(seconds(1), {.bytes_done = 5, .fingerprint = 1, .active = true});
  rig.See(minutes(10) - seconds(1), {.bytes_done = 5, .fingerprint = 1, .active = true});
  EXPECT_EQ(rig.EvaluateImage(), RunDecision::kContinue);
  rig.See(seconds(1), {.bytes_done = 5, .fingerprint = 1, .active = true});
  EXPECT_EQ(rig.EvaluateImage(), RunDecision::kReplace);
}

TEST(Stall, ARegistryThatNeverAnswersIsAStallToo) {
  Rig rig;
  rig.now += minutes(10);
  EXPECT_EQ(rig.EvaluateImage(), RunDecision::kReplace);
}

TEST(Stall, UnpackingMayTakeItsTime) {
  Rig rig;
  rig.See(seconds(1), {.bytes_done = 9, .bytes_total = 9, .fingerprint = 1, .unpacking = true});
  rig.See(minutes(25), {.bytes_done = 9, .bytes_total = 9, .fingerprint = 1, .unpacking = true});
  EXPECT_EQ(rig.EvaluateImage(), RunDecision::kContinue);
  rig.now = kStart + minutes(120);
  EXPECT_EQ(rig.EvaluateImage(), RunDecision::kEnd);
}

TEST(Stall, WaitingInTheRuntimesQueueIsNoStall) {
  Rig rig;
  rig.See(seconds(1), {.fingerprint = 1});
  rig.See(minutes(30), {.fingerprint = 1, .may_be_queued = true});
  EXPECT_EQ(rig.EvaluateImage(), RunDecision::kContinue);
  rig.See(minutes(10), {.fingerprint = 1, .may_be_queued = false});
  EXPECT_EQ(rig.EvaluateImage(), RunDecision::kReplace);
}

TEST(Stall, WithoutSightOnlyThePullTimeoutCounts) {
  Rig rig;
  rig.now = kStart + minutes(59);
  EXPECT_EQ(rig.EvaluateImage(false), RunDecision::kContinue);
  rig.now = kStart + minutes(60);
  EXPECT_EQ(rig.EvaluateImage(false), RunDecision::kEnd);
}

TEST(Stall, NextJudgementIsWhenTheVerdictMayChange) {
  Rig rig;
  rig.See(seconds(30), {.bytes_done = 1, .fingerprint = 1, .active = true});
  base::TimePoint next = NextEvaluation(rig.progress, true, kStart, minutes(60), {});
  EXPECT_EQ(next, kStart + seconds(30) + minutes(10));
  rig.now = next;
  EXPECT_EQ(rig.EvaluateImage(), RunDecision::kReplace);
}

// Another registry gets its place then; a trickle is not worth one. A pull that has just begun has its place.
TEST(Stall, APullIsIdleIfBytesComeTooSlowlyToBeWorthAPlace) {
  Rig rig;
  const auto idle = [&] { return IsIdle(rig.progress, kStart, rig.now); };
  EXPECT_FALSE(idle());
  rig.See(milliseconds(4900), {.bytes_done = 700, .fingerprint = 1, .active = true});
  EXPECT_FALSE(idle());
  rig.See(milliseconds(100), {.bytes_done = 800, .fingerprint = 2, .active = true});
  EXPECT_TRUE(idle()) << "its manifest alone came";
  rig.See(seconds(1), {.bytes_done = 200'000, .fingerprint = 3, .active = true});
  EXPECT_FALSE(idle());
  rig.See(seconds(4), {.bytes_done = 200'000, .fingerprint = 3, .active = true});
  EXPECT_FALSE(idle()) << "for a moment";
  rig.See(seconds(1), {.bytes_done = 200'100, .fingerprint = 4, .active = true});
  EXPECT_TRUE(idle());
  rig.See(seconds(2), {.bytes_done = 200'300, .fingerprint = 5, .active = true, .unpacking = true});
  EXPECT_FALSE(idle());
  rig.See(seconds(6), {.bytes_done = 200'300, .fingerprint = 5, .may_be_queued = true});
  EXPECT_FALSE(idle());
}

TEST(Movement, RateAndTotals) {
  Rig rig;
  rig.See(seconds(1), {.bytes_done = 100, .bytes_total = 1000, .fingerprint = 1, .active = true});
  rig.See(seconds(2), {.bytes_done = 300, .bytes_total = 0, .fingerprint = 2, .active = true});
  EXPECT_DOUBLE_EQ(rig.progress.bytes_per_second, 100);
  EXPECT_EQ(rig.progress.bytes_total, 1000U);
}

}  // namespace
}  // namespace prefetch::plan::stall_test
