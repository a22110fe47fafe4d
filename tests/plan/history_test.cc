#include "plan/history.h"

#include <gtest/gtest.h>

#include "plan/limits.h"
#include "rows.h"

namespace prefetch::plan::history_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const base::TimePoint kNow{hours(100)};

base::Duration DelayAfter(Reason reason, int failures, double random) {
  History past;
  for (int i = 0; i < failures; i++) past = AfterFailure(past, {.reason = reason}, kNow, random);
  if (past.not_before == base::TimePoint::max()) return base::Duration::max();
  return past.not_before - kNow;
}

struct DelayCase {
  std::string name;
  Reason reason;
  int failures;
  base::Duration least, most;  // over all random numbers
};

TEST_TABLE(DelayTest, Row, DelayCase) {
  EXPECT_EQ(DelayAfter(row.reason, row.failures, 0), row.least);
  EXPECT_EQ(DelayAfter(row.reason, row.failures, 1), row.most);
}

TEST_ROWS(Delay, DelayTest, {"FirstRetryOfAPassingFailureIsImmediate", Reason::kUnreachable, 1, {}, {}},
          {"ThenFullJitter", Reason::kUnreachable, 2, {}, seconds(4)},
          {"ThatDoubles", Reason::kServerError, 4, {}, seconds(16)},
          {"UpToFiveMinutes", Reason::kTimeout, 30, {}, minutes(5)},
          {"DeniedIsNotHammered", Reason::kAccessDenied, 1, minutes(5), seconds(375)},
          {"DeniedSlowsDown", Reason::kAccessDenied, 3, minutes(20), minutes(25)},
          {"DeniedUpToAnHour", Reason::kAccessDenied, 9, hours(1), minutes(75)},
          {"NotFoundLikewise", Reason::kNotFound, 1, minutes(5), seconds(375)},
          {"SignatureHourly", Reason::kSignatureRejected, 1, hours(1), minutes(75)},
          {"PlatformNever", Reason::kPlatformMismatch, 1, base::Duration::max(), base::Duration::max()},
          {"BadReferenceNever", Reason::kInvalidReference, 1, base::Duration::max(), base::Duration::max()},
          {"RuntimeRestartIsNoFailure", Reason::kRuntimeDown, 5, {}, {}});

TEST(AfterFailure, RuntimeRestartsAreNotCounted) {
  History past = AfterFailure({}, {.reason = Reason::kRuntimeDown, .error = "Socket closed"}, kNow, 0);
  EXPECT_EQ(past.failures, 0);
  EXPECT_FALSE(past.settled);
  EXPECT_EQ(past.last_error, "Socket closed");
}

// Both sides: neither is paused longer for what failed before in the other's way.
TEST(AfterFailure, AFullDiskCountsApart) {
  History past;
  for (int i = 0; i < 5; i++) past = AfterFailure(past, {.reason = Reason::kUnreachable}, kNow, 0);
  past = AfterFailure(past, {.reason = Reason::kDiskFull}, kNow, 0);
  EXPECT_EQ(past.not_before, kNow + minutes(5));
  past = AfterFailure(past, {.reason = Reason::kDiskFull}, kNow, 0);
  EXPECT_EQ(past.not_before, kNow + minutes(10));
  for (int i = 0; i < 3; i++) past = AfterFailure(past, {.reason = Reason::kDiskFull}, kNow, 0);
  past = AfterFailure(AfterSuccess(past, {}, kNow), {.reason = Reason::kDiskFull}, kNow, 0);
  EXPECT_EQ(past.not_before, kNow + minutes(5)) << "a success ends the count";
  past = AfterFailure(past, {.reason = Reason::kUnreachable}, kNow, 1);
  EXPECT_EQ(past.not_before, kNow) << "the first one of its kind";
}

TEST(AfterFailure, RetryAfterIsRespected) {
  History past = AfterFailure({}, {.reason = Reason::kRateLimited, .retry_after = minutes(7)}, kNow, 0);
  EXPECT_EQ(past.not_before, kNow + minutes(7));
}

TEST(AfterFailure, SettlesWhenNobodyNeedsToWait) {
  EXPECT_TRUE(AfterFailure({}, {.reason = Reason::kNotFound}, kNow, 0).settled);
  History past;
  for (int i = 0; i < 5; i++) past = AfterFailure(past, {.reason = Reason::kUnreachable}, kNow, 0);
  EXPECT_FALSE(past.settled);
  EXPECT_TRUE(AfterFailure(past, {.reason = Reason::kUnreachable}, kNow, 0).settled);
}

// A plugin that failed is asked again within seconds, as by kubelet; six failures settle it all the same.
TEST(AfterFailure, ADenialWithoutThePluginsCredentialPasses) {
  const PullFailure failure{.reason = Reason::kAccessDenied, .lacks_credential = true};
  History past = AfterFailure({}, failure, kNow, 0);
  EXPECT_EQ(past.not_before, kNow);
  EXPECT_FALSE(past.settled);
  for (int i = 1; i < 6; i++) past = AfterFailure(past, failure, kNow, 0);
  EXPECT_TRUE(past.settled);
}

TEST(AfterSuccess, ForgetsFailures) {
  History past = AfterFailure({}, {.reason = Reason::kNotFound, .error = "gone"}, kNow, 0);
  past = AfterSuccess(
      past, {.local = {.id = "sha256:a"}, .origin = {.with = PulledWith::kProvider, .credential = "acme"}},
      kNow);
  EXPECT_EQ(past.failures, 0);
  EXPECT_EQ(past.last_error, "");
  EXPECT_EQ(past.pulled_id, "sha256:a");
  EXPECT_EQ(past.origin.with, PulledWith::kProvider);
  EXPECT_EQ(past.origin.credential, "acme");
  EXPECT_TRUE(past.settled);
  EXPECT_TRUE(AfterSuccess({}, {.local = {.id = "sha256:a"}}, kNow).settled) << "one that never failed";
}

TEST(AfterSuccess, WhatIsNotUnpackedIsNoSuccessToBuildOn) {
  History past;
  for (int i = 0; i < 3; i++) {
    past = AfterSuccess(past, {.local = {.id = "sha256:a", .unpacked = false}}, kNow);
    past = AfterFailure(past, {.reason = Reason::kNotUnpacked}, kNow, 1);
  }
  EXPECT_EQ(past.failures, 3);
  EXPECT_GT(past.not_before, kNow);
  EXPECT_FALSE(past.settled);
}

TEST(AfterNewCredentials, WhatWasDeniedOrHiddenIsDueAndNothingElse) {
  for (Reason reason :
       {Reason::kAccessDenied, Reason::kBadCredentialFormat, Reason::kNotFound, Reason::kNotAnImage}) {
    History past = AfterFailure({}, {.reason = reason}, kNow, 0.5);
    ASSERT_GT(past.not_before, kNow) << base::EnumName(reason);
    bool due = AfterNewCredentials(past, kNow + seconds(1)).not_before <= kNow + seconds(1);
    EXPECT_EQ(due, reason != Reason::kNotAnImage) << base::EnumName(reason);
  }
}

struct EndsCase {
  std::string name;
  std::vector<InterruptedRun> runs;  // each cut by the end of the runtime
  bool suspect;
};
TEST_TABLE(RuntimeEndsTest, SuspectsWhatGetsNoFurther, EndsCase) {
  History past;
  for (const InterruptedRun& run : row.runs)
    past = AfterRuntimeOutage(std::move(past), {.reason = Reason::kRuntimeDown}, run, kNow, 0);
  EXPECT_EQ(IsCrashSuspect(past), row.suspect);
}
TEST_ROWS(All, RuntimeEndsTest, {"Once", {{seconds(1), 10}}, false},
          {"TwiceSoon", {{minutes(2), 10}, {seconds(59), 20}}, true},
          {"TwiceAtTheSameByte", {{minutes(2), 9}, {minutes(2), 9}}, true},
          {"BytesAreNotSeen", {{minutes(2), 0}, {minutes(2), 0}}, true},
          {"EachBringsBytes", {{minutes(2), 9}, {minutes(1), 10}, {minutes(1), 11}}, false},
          {"TheMostBytesThatItEverHadCount",
           {{minutes(2), 9}, {minutes(1), 20}, {minutes(1), 5}, {minutes(1), 6}},
           true},
          {"ASuspectThatGetsOnIsNone", {{seconds(1), 9}, {seconds(1), 9}, {minutes(1), 10}}, false});

TEST(AfterRuntimeEnd, ASuspectBesideOthersIsTriedOnceMore) {
  const PullFailure down{.reason = Reason::kRuntimeDown};
  History past = AfterRuntimeOutage(AfterRuntimeOutage({}, down, {}, kNow, 0), down, {}, kNow, 0);
  ASSERT_TRUE(IsCrashSuspect(past));
  for (bool first : {true, false}) {
    past = AfterRuntimeOutage(std::move(past), down, {.beside_others = true}, kNow, 0);
    EXPECT_EQ(past.not_before < kNow + minutes(1), first);
    EXPECT_EQ(past.settled, !first);
  }
}

TEST(AfterRuntimeEnd, AFailureThatTheRuntimeSurvivesEndsTheRowAndNoSuspicion) {
  const PullFailure down{.reason = Reason::kRuntimeDown}, missing{.reason = Reason::kNotFound};
  History past = AfterFailure(AfterRuntimeOutage({}, down, {}, kNow, 0), missing, kNow, 0);
  past = AfterRuntimeOutage(std::move(past), down, {}, kNow, 0);
  EXPECT_FALSE(IsCrashSuspect(past));
  past = AfterRuntimeOutage(std::move(past), down, {}, kNow, 0);
  ASSERT_TRUE(IsCrashSuspect(past));
  EXPECT_TRUE(IsCrashSuspect(AfterFailure(std::move(past), missing, kNow, 0)));
}

// kubelet takes it away a minute after each pull.
TEST(AfterVanished, ALoopSlowsDownToAnHourAndStaysThere) {
  History past;
  std::vector<minutes> pauses;
  for (base::TimePoint now = kNow; pauses.size() < 9; now = std::max(now, past.not_before) + minutes(1)) {
    past = AfterVanished(past, now);
    pauses.push_back(std::chrono::duration_cast<minutes>(past.not_before - now));
    EXPECT_EQ(IsEvictedRepeatedly(past), pauses.size() > 2);
  }
  EXPECT_EQ(past.last_failure, Reason::kEvictedByKubelet);
  using M = minutes;
  EXPECT_EQ(pauses, (std::vector<M>{M(0), M(0), M(5), M(10), M(20), M(40), M(60), M(60), M(60)}));
  past = AfterVanished(past, past.not_before + hours(3));
  EXPECT_FALSE(IsEvictedRepeatedly(past));
}

TEST(AfterRetryRequested, SkipsTheBackoffOnce) {
  const base::WallTime wall{hours(500'000)};
  History past;
  for (int i = 0; i < 3; i++) past = AfterFailure(past, {.reason = Reason::kNotFound}, kNow, 0);
  ASSERT_EQ(past.not_before, kNow + minutes(20));
  past = AfterRetryRequested(past, kNow + minutes(1), wall);
  EXPECT_EQ(past.not_before, kNow + minutes(1));
  EXPECT_EQ(past.retry_requested_at, wall);
  past = AfterFailure(past, {.reason = Reason::kNotFound}, kNow + minutes(2), 0);
  EXPECT_EQ(past.not_before, kNow + minutes(42)) << "its failures still count";
  EXPECT_EQ(past.retry_requested_at, std::nullopt);
  past = AfterRetryRequested(past, kNow + minutes(3), wall);
  EXPECT_EQ(AfterSuccess(past, {.local = {.id = "sha256:aa"}}, kNow + minutes(4)).retry_requested_at,
            std::nullopt);
}

TEST(AfterRetryRequested, AlsoWhatWaitsForAnotherList) {
  const History failed = AfterFailure({}, {.reason = Reason::kPlatformMismatch}, kNow, 0);
  ASSERT_EQ(failed.not_before, base::TimePoint::max());
  EXPECT_EQ(AfterRetryRequested(failed, kNow, {}).not_before, kNow);
}

TEST(AfterRetryRequested, ButNotTheRegistrysOwnTime) {
  const History told = AfterFailure({}, {.reason = Reason::kServerError, .retry_after = minutes(7)}, kNow, 0);
  EXPECT_EQ(AfterRetryRequested(told, kNow + minutes(1), {}).not_before, kNow + minutes(7));
}

// Something else may hold it: its registry, a full disk, a window.
TEST(AfterRetryRequested, WithoutABackoffItIsRecordedOnly) {
  const History past = AfterFailure({}, {.reason = Reason::kUnreachable}, kNow, 0);
  ASSERT_EQ(past.not_before, kNow);
  const History after = AfterRetryRequested(past, kNow, base::WallTime(hours(1)));
  EXPECT_EQ(after.retry_requested_at, base::WallTime(hours(1)));
  EXPECT_EQ(after.not_before, kNow);
  EXPECT_EQ(after.failures, 1);
}

TEST(AfterUpdateObsolete, TheNextUpdateBeginsWithoutFailures) {
  History past;
  for (int i = 0; i < 3; i++) past = AfterFailure(past, {.reason = Reason::kNotFound}, kNow, 0);
  past.suspicious_outages = 1;
  past = AfterUpdateObsolete(past, kNow);
  EXPECT_EQ(past.suspicious_outages, 0);
  EXPECT_EQ(past.not_before, kNow);
  EXPECT_EQ(past.last_failure, std::nullopt);
  past = AfterFailure(past, {.reason = Reason::kNotFound}, kNow, 0);
  EXPECT_EQ(past.not_before, AfterFailure({}, {.reason = Reason::kNotFound}, kNow, 0).not_before);
}

const base::TimePoint kStart{seconds(1000)};

struct Rig {
  ObservedProgress progress{.last_progress_at = kStart};
  base::TimePoint now = kStart;
  void See(base::Duration later, const image::PullProgress& seen, PullWaits waits = {}) {
    now += later;
    progress = AfterProgress(progress, seen, waits, now);
  }
  RunDecision EvaluateImage(bool visible = true) {
    return EvaluatePull(progress, visible, kStart, minutes(60), {}, now);
  }
};

struct Stall : testing::Test {
  Rig rig;
};
using Movement = Stall;

TEST_F(Stall, UnpackingMayTakeItsTime) {
  rig.See(seconds(1), {.bytes_done = 9, .bytes_total = 9, .fingerprint = 1, .unpacking = true});
  rig.See(minutes(25), {.bytes_done = 9, .bytes_total = 9, .fingerprint = 1, .unpacking = true});
  EXPECT_EQ(rig.EvaluateImage(), RunDecision::kContinue);
  rig.now = kStart + minutes(120);
  EXPECT_EQ(rig.EvaluateImage(), RunDecision::kEnd);
}

TEST_F(Stall, WaitingInTheRuntimesQueueIsNoStall) {
  rig.See(seconds(1), {.fingerprint = 1});
  rig.See(minutes(30), {.fingerprint = 1}, {.may_be_queued = true});
  EXPECT_EQ(rig.EvaluateImage(), RunDecision::kContinue);
  rig.See(minutes(10), {.fingerprint = 1});
  EXPECT_EQ(rig.EvaluateImage(), RunDecision::kReplace);
}

TEST_F(Stall, AWaitOfTheAgentIsNoStall) {
  const image::PullProgress part{.bytes_done = 5, .fingerprint = 1, .active = true};
  rig.See(seconds(1), part);
  rig.See(minutes(30), part, {.held_back = true});
  EXPECT_EQ(rig.EvaluateImage(), RunDecision::kContinue);
  rig.See(minutes(10), part);
  EXPECT_EQ(rig.EvaluateImage(), RunDecision::kReplace);
}

TEST_F(Stall, AWaitOfTheAgentIsNoPartOfThePullsTime) {
  rig.See(minutes(1), {.bytes_done = 1, .fingerprint = 1, .active = true});
  rig.See(minutes(110), {.bytes_done = 1, .fingerprint = 1, .active = true}, {.held_back = true});
  rig.See(minutes(118), {.bytes_done = 2, .fingerprint = 2, .active = true});
  EXPECT_EQ(rig.EvaluateImage(), RunDecision::kContinue);
  rig.See(minutes(1), {.bytes_done = 3, .fingerprint = 3, .active = true});
  EXPECT_EQ(rig.EvaluateImage(), RunDecision::kEnd);
}

TEST_F(Stall, NextJudgementIsWhenTheVerdictMayChange) {
  rig.See(seconds(30), {.bytes_done = 1, .fingerprint = 1, .active = true});
  base::TimePoint next = NextEvaluation(rig.progress, true, kStart, minutes(60), {});
  EXPECT_EQ(next, kStart + seconds(30) + minutes(10));
  rig.now = next;
  EXPECT_EQ(rig.EvaluateImage(), RunDecision::kReplace);
}

// Another registry gets its place then; a trickle is not worth one. A pull that has just begun has its place.
TEST_F(Stall, APullIsIdleIfBytesComeTooSlowlyToBeWorthAPlace) {
  const auto idle = [&] { return IsIdle(rig.progress, kStart, rig.now); };
  EXPECT_FALSE(idle());
  rig.See(milliseconds(900), {.bytes_done = 700, .fingerprint = 1, .active = true});
  EXPECT_FALSE(idle());
  rig.See(milliseconds(100), {.bytes_done = 800, .fingerprint = 2, .active = true});
  EXPECT_TRUE(idle()) << "its manifest alone came";
  rig.See(seconds(1), {.bytes_done = 200'000, .fingerprint = 3, .active = true});
  EXPECT_FALSE(idle());
  rig.See(seconds(4), {.bytes_done = 200'000, .fingerprint = 3, .active = true});
  EXPECT_FALSE(idle()) << "for a moment";
  rig.now += seconds(7);
  EXPECT_FALSE(idle()) << "nobody has looked since";
  rig.now -= seconds(7);
  rig.See(seconds(1), {.bytes_done = 200'100, .fingerprint = 4, .active = true});
  EXPECT_TRUE(idle());
  rig.See(seconds(2), {.bytes_done = 200'300, .fingerprint = 5, .active = true, .unpacking = true});
  EXPECT_FALSE(idle());
  rig.See(seconds(6), {.bytes_done = 200'300, .fingerprint = 5}, {.may_be_queued = true});
  EXPECT_FALSE(idle());
}

TEST_F(Movement, DeliversIfBytesComeFasterThanATrickle) {
  rig.See(seconds(1), {.bytes_done = 200'000, .fingerprint = 1, .active = true});
  EXPECT_FALSE(IsDelivering(rig.progress)) << "an earlier pull has left them";
  rig.See(seconds(1), {.bytes_done = 300'000, .fingerprint = 2, .active = true});
  EXPECT_TRUE(IsDelivering(rig.progress));
  rig.See(minutes(1), {.bytes_done = 300'000, .fingerprint = 2}, {.may_be_queued = true});
  EXPECT_FALSE(IsDelivering(rig.progress));
}

TEST_F(Movement, RateAndTotals) {
  rig.See(seconds(1), {.bytes_done = 100, .bytes_total = 1000, .fingerprint = 1, .active = true});
  rig.See(seconds(2), {.bytes_done = 300, .bytes_total = 0, .fingerprint = 2, .active = true});
  EXPECT_DOUBLE_EQ(rig.progress.bytes_per_second, 100);
  EXPECT_EQ(rig.progress.bytes_total, 1000U);
  rig.See(seconds(8), {.bytes_done = 1100, .fingerprint = 3, .active = true});
  EXPECT_DOUBLE_EQ(rig.progress.bytes_per_second, 100);
  rig.See(seconds(1), {.bytes_done = 1600, .fingerprint = 4, .active = true});
  EXPECT_DOUBLE_EQ(rig.progress.bytes_per_second, 500) << "since the last ten seconds were over";
  rig.See(seconds(1), {.bytes_done = 200, .fingerprint = 5, .active = true});
  EXPECT_DOUBLE_EQ(rig.progress.bytes_per_second, 0) << "an ingest was discarded";
  rig.See(seconds(2), {.bytes_done = 600, .fingerprint = 6, .active = true});
  EXPECT_DOUBLE_EQ(rig.progress.bytes_per_second, 200);
}

}  // namespace
}  // namespace prefetch::plan::history_test
