#include "plan/touch.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/enum_name.h"
#include "plan/verdicts.h"
#include "rows.h"

namespace prefetch::plan::touch_test {
namespace {

using image::ErrorClass;
using image::PullPolicy;
using kubelet::VerdictReason;
using std::chrono::minutes;
using std::chrono::seconds;

const base::TimePoint kNow{seconds(100000)};
const base::WallTime kWall{seconds(1785578400)};

using Why = VerdictReason;
using Need = TouchNeed;
using Outcome = ContainerOutcome;
using Obstacle = TouchObstacle;

struct NeedCase {
  std::string name;
  Open open;
  VerdictsPtr verdicts;
  TouchNeed expect;
  PullPolicy ready_for = PullPolicy::kNever;
};
TEST_TABLE(NeedTest, Decides, NeedCase) {
  DesiredImage desired;
  desired.open = row.open;
  desired.ready_for = row.ready_for;
  EXPECT_EQ(NeedOf(desired, *row.verdicts), row.expect);
}
TEST_ROWS(Touch, NeedTest,
          // Auto: closed for what the entry promises, and a record would lift it.
          {"AutoClosed", Open::kAuto, tests::Closed(), Need::kOpen},
          {"AutoUnderOtherName", Open::kAuto, tests::Closed(Why::kRecordedUnderOtherName), Need::kOpen},
          {"AutoForNobody", Open::kAuto, tests::Closed(Why::kRecordedForNobody), Need::kOpen},
          {"AutoInterrupted", Open::kAuto, tests::Closed(Why::kPullInterrupted), Need::kOpen},
          {"AutoAlwaysVerify", Open::kAuto, tests::Closed(Why::kVerificationAlways), Need::kOpen},
          {"AutoNotAllowlisted", Open::kAuto, tests::Closed(Why::kNotAllowlisted), Need::kOpen},
          {"AutoUndecodableRecord", Open::kAuto, tests::Closed(Why::kRecordUnreadable), Need::kOpen},
          {"AutoManifestCheckRemains", Open::kAuto, tests::Closed(), Need::kOpen, PullPolicy::kIfNotPresent},
          {"AutoPreloaded", Open::kAuto, tests::Open(), Need::kNone},
          {"AutoOpen", Open::kAuto, tests::Open(Why::kOpenToNode), Need::kNone},
          {"AutoUnknown", Open::kAuto, tests::Unknown(), Need::kNone},
          // The agent does not touch an image that is open to the pod of the entry's readyAs.
          {"AutoOpenToThePod", Open::kAuto, tests::Open(Why::kRecordedForPod), Need::kNone},
          {"AutoAssumed", Open::kAuto, tests::Open(Why::kAssumedForPod), Need::kNone},
          {"AlwaysOpenToThePod", Open::kAlways, tests::Open(Why::kRecordedForPod), Need::kNone},
          // Which of several secrets it is matters to nobody once it is open to all.
          {"AutoAmbiguous", Open::kAuto, tests::Unknown(Why::kSecretAmbiguous), Need::kOpen},
          {"NeverAmbiguous", Open::kNever, tests::Unknown(Why::kSecretAmbiguous), Need::kNone},
          {"AutoUnknownSinceUnreadableForUs", Open::kAuto, tests::Unknown(Why::kRecordUnreadable),
           Need::kNone},
          {"AutoAbsent", Open::kAuto, tests::Closed(Why::kImageAbsent), Need::kNone},
          // A pod with Always asks the registry whatever is recorded.
          {"AutoReadyForAlways", Open::kAuto, tests::Closed(), Need::kNone, PullPolicy::kAlways},
          // Always: also what the first pod with a secret would close.
          {"AlwaysPreloaded", Open::kAlways, tests::Open(), Need::kKeepOpen},
          {"AlwaysClosed", Open::kAlways, tests::Closed(), Need::kOpen},
          {"AlwaysClosedReadyForAlways", Open::kAlways, tests::Closed(), Need::kOpen, PullPolicy::kAlways},
          {"AlwaysOpen", Open::kAlways, tests::Open(Why::kOpenToNode), Need::kNone},
          // Exempt for good.
          {"AlwaysAllowlisted", Open::kAlways, tests::Open(Why::kAllowlisted), Need::kNone},
          {"AlwaysNeverVerified", Open::kAlways, tests::Open(Why::kVerificationNever), Need::kNone},
          {"AlwaysKubeletTooOldToCare", Open::kAlways, tests::Open(Why::kGateOff), Need::kNone},
          {"AlwaysUnknown", Open::kAlways, tests::Unknown(), Need::kNone},
          {"NeverClosed", Open::kNever, tests::Closed(), Need::kNone},
          {"NeverPreloaded", Open::kNever, tests::Open(), Need::kNone});

struct ContainerCase {
  std::string name;
  ContainerObservation seen;
  ContainerOutcome outcome;
  TouchObstacle obstacle = Obstacle::kNone;
};
TEST_TABLE(ContainerTest, IsJudged, ContainerCase) {
  ContainerEvaluation judged = EvaluateContainer(row.seen);
  EXPECT_EQ(judged.outcome, row.outcome);
  EXPECT_EQ(judged.result.obstacle, row.obstacle);
}
ContainerObservation NoPull(ErrorClass error) {
  return {.waiting_reason = "ErrImagePull", .error = error};
}
TEST_ROWS(
    Touch, ContainerTest, {"NoWordYet", {}, Outcome::kUndecided},
    {"Creating", {.waiting_reason = "ContainerCreating"}, Outcome::kUndecided},
    // K37
    {"StartError", {.terminated_reason = "StartError"}, Outcome::kPulled},
    // K38
    {"CannotBeCreated", {.waiting_reason = "CreateContainerError"}, Outcome::kPulled},
    {"CannotRun", {.waiting_reason = "RunContainerError"}, Outcome::kPulled},
    {"Denied", NoPull(ErrorClass::kAccessDenied), Outcome::kFailed, Obstacle::kNoNodeCredentials},
    {"DeniedAndInBackOff",
     ContainerObservation{.waiting_reason = "ImagePullBackOff", .error = ErrorClass::kAccessDenied},
     Outcome::kFailed, Obstacle::kNoNodeCredentials},
    {"RegistryAway", NoPull(ErrorClass::kUnreachable), Outcome::kFailed, Obstacle::kRegistryTrouble},
    {"RegistryAwayAsCriSaysIt",
     {.waiting_reason = "RegistryUnavailable"},
     Outcome::kFailed,
     Obstacle::kRegistryTrouble},
    {"RateLimited", NoPull(ErrorClass::kRateLimited), Outcome::kFailed, Obstacle::kRegistryTrouble},
    {"TagGone", NoPull(ErrorClass::kNotFound), Outcome::kFailed, Obstacle::kPullFailed},
    {"NobodyKnowsWhy", {.waiting_reason = "ErrImagePull"}, Outcome::kFailed, Obstacle::kPullFailed},
    {"InvalidName", {.waiting_reason = "InvalidImageName"}, Outcome::kFailed, Obstacle::kPullFailed},
    {"AnotherReason", {.waiting_reason = "illegal base64 data"}, Outcome::kFailed, Obstacle::kPullFailed});

TEST(EvaluateContainer, SaysWhatKubeletSaysInOneBoundedLine) {
  ContainerObservation seen{.waiting_reason = "ErrImagePull",
                            .waiting_message = "a\nb" + std::string(5000, 'x')};
  std::string why = EvaluateContainer(seen).result.why;
  EXPECT_TRUE(why.starts_with("ErrImagePull: a bx")) << why;
  EXPECT_LE(why.size(), 510U);
}

PodObservation Pod(std::vector<ContainerObservation> containers, std::string phase = "Pending") {
  return {.phase = std::move(phase), .containers = std::move(containers)};
}
const ContainerObservation kPulledOne{.terminated_reason = "StartError"};
const ContainerObservation kCreating{.waiting_reason = "ContainerCreating"};

TEST(EvaluatePod, IsOverWhenEveryContainerIsDecided) {
  EXPECT_FALSE(EvaluatePod(Pod({}), seconds(1), seconds(1)).over);
  EXPECT_FALSE(EvaluatePod(Pod({kPulledOne, kCreating}), seconds(1), seconds(1)).over);
  PodEvaluation judged = EvaluatePod(Pod({kPulledOne, kPulledOne}), seconds(1), seconds(1));
  EXPECT_TRUE(judged.over);
  EXPECT_EQ(judged.pod.obstacle, Obstacle::kNone);
}

TEST(EvaluatePod, OneThatNobodyRunsIsGivenUpAfterAMinute) {
  EXPECT_FALSE(EvaluatePod(Pod({}), seconds(59), seconds(59)).over);
  PodEvaluation judged = EvaluatePod(Pod({}), seconds(60), seconds(60));
  EXPECT_TRUE(judged.over);
  EXPECT_EQ(judged.pod.obstacle, Obstacle::kPodNeverRan);
}

TEST(EvaluatePod, OneThatMovesHasItsTime) {
  EXPECT_FALSE(EvaluatePod(Pod({kPulledOne, kCreating}), seconds(30), seconds(200)).over);
  EXPECT_TRUE(EvaluatePod(Pod({kPulledOne, kCreating}), seconds(30), seconds(280)).over);
  EXPECT_EQ(EvaluatePod(Pod({kPulledOne, kCreating}), seconds(30), seconds(280)).pod.obstacle,
            Obstacle::kNone)
      << "kubelet ran it: what is left is the image's";
}

TEST(EvaluatePod, OneThatHasEndedOrThatSomebodyDeletedIsOver) {
  for (const PodObservation& pod :
       {Pod({kCreating}, "Failed"), Pod({}, "Succeeded"), PodObservation{.gone = true}}) {
    PodEvaluation judged = EvaluatePod(pod, {}, {});
    EXPECT_TRUE(judged.over) << pod.phase;
    EXPECT_EQ(judged.pod.obstacle, Obstacle::kPodNeverRan);
  }
}

TouchHistory Touched(TouchHistory past, TouchObstacle obstacle, base::TimePoint now = kNow) {
  past.attempts++;
  return AfterTouch(std::move(past), {obstacle, "why"}, now, kWall, 0);
}

TEST(AfterTouch, ThreeWithoutEffectAreTheLast) {
  TouchHistory past = ForContent({}, "sha256:a", kNow);
  past = Touched(past, Obstacle::kNotRecorded);
  EXPECT_EQ(past.not_before, kNow + seconds(30));
  EXPECT_EQ(StatusOf({TouchNeed::kOpen, false, past, {}}, kNow, kWall).why, "why");
  past = Touched(past, Obstacle::kNotRecorded);
  EXPECT_EQ(past.not_before, kNow + minutes(2));
  past = Touched(past, Obstacle::kNotRecorded);
  EXPECT_EQ(past.not_before, base::TimePoint::max());
  EXPECT_EQ(StatusOf({TouchNeed::kOpen, false, past, {}}, kNow, kWall).state, TouchState::kIneffective);
}

// A tag that was gone may be back.
TEST(AfterTouch, WhereKubeletsPullFailedTheFourthComesAnHourLater) {
  TouchHistory past;
  for (int i = 0; i < 3; i++) past = Touched(past, Obstacle::kPullFailed);
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(past.not_before, kNow + minutes(60));
    TouchStatus status = StatusOf({TouchNeed::kOpen, false, past, {}}, kNow, kWall);
    EXPECT_EQ(status.state, TouchState::kIneffective);
    EXPECT_TRUE(status.settled);
    EXPECT_EQ(status.next_attempt_at, kWall + minutes(60));
    EXPECT_EQ(AfterKubeletRestart(past, kNow).not_before, past.not_before) << "it may restart all the time";
    past = Touched(past, Obstacle::kPullFailed);
  }
  EXPECT_EQ(Touched(past, Obstacle::kRegistryTrouble).not_before, kNow + minutes(60)) << "it will pass";
}

TEST(AfterTouch, WhatCannotHelpIsNotTriedTwice) {
  for (TouchObstacle obstacle :
       {Obstacle::kTokenProvider, Obstacle::kPullSecret, Obstacle::kRecordsNeverMatch}) {
    EXPECT_EQ(Touched({}, obstacle).not_before, base::TimePoint::max()) << base::EnumName(obstacle);
  }
}

TEST(AfterTouch, TransientFailuresCountInARow) {
  TouchHistory past;
  for (int i = 0; i < 4; i++) past = Touched(past, Obstacle::kRegistryTrouble);
  past = Touched(past, Obstacle::kNotRecorded);
  past = Touched(past, Obstacle::kRegistryTrouble);
  EXPECT_EQ(past.not_before, kNow + seconds(5));
}

TEST(AfterTouch, OneWithEffectForgetsTheOthers) {
  TouchHistory past = Touched({}, Obstacle::kNotRecorded);
  past = Touched(past, Obstacle::kNone);
  EXPECT_EQ(past.failures, 0);
  EXPECT_EQ(StatusOf({TouchNeed::kNone, false, past, {}}, kNow, kWall).state, TouchState::kDone);
  // Closed again, by a garbage collection of records say: touched again, at once.
  EXPECT_EQ(StatusOf({TouchNeed::kOpen, false, past, {}}, kNow, kWall).state, TouchState::kDue);
}

// As while a tag's new content is pulled, which then does not come.
TEST(SkipTouch, TheAttemptsCountAgainOnceTheContentMayBeTouched) {
  TouchHistory past = ForContent({}, "sha256:a", kNow);
  for (int i = 0; i < 3; i++) past = Touched(past, Obstacle::kNotRecorded);
  const TouchHistory aside = PauseTouch(PauseTouch(past));
  EXPECT_EQ(aside.image_id, "");
  const TouchHistory back = ForContent(aside, "sha256:a", kNow);
  EXPECT_EQ(back.image_id, "sha256:a");
  EXPECT_EQ(back.failures, 3);
  EXPECT_EQ(back.not_before, past.not_before);
  EXPECT_EQ(ForContent(back, "sha256:a", kNow).failures, 3);
  EXPECT_EQ(ForContent(aside, "sha256:b", kNow).failures, 0);
  // It is gone, and comes back.
  EXPECT_EQ(ForContent(ForContent(aside, "", kNow), "sha256:a", kNow).failures, 0);
}

TEST(AfterNews, WhatWasGivenUpIsTriedAgain) {
  TouchHistory past = ForContent({}, "sha256:a", kNow);
  for (int i = 0; i < 3; i++) past = Touched(past, Obstacle::kNoNodeCredentials);
  past = AfterConditionsChanged(past, kNow + minutes(1));
  EXPECT_EQ(StatusOf({TouchNeed::kOpen, false, past, {}}, kNow + minutes(1), kWall).state, TouchState::kDue);
}

TEST(AfterPod, TheGroundIsTriedAtLongIntervalsAndCalledHopelessAfterThree) {
  TouchPodHealth pod_health;
  for (int i = 0; i < 2; i++) pod_health = AfterPod(pod_health, {Obstacle::kQuota, "full"}, kNow, 0);
  EXPECT_FALSE(IsLongObstacle(pod_health));
  EXPECT_EQ(pod_health.not_before, kNow + minutes(2));
  EXPECT_EQ(StatusOf({TouchNeed::kOpen, false, {}, pod_health}, kNow, kWall).state, TouchState::kWaiting);
  pod_health = AfterPod(pod_health, {Obstacle::kQuota, "full"}, kNow, 0);
  EXPECT_TRUE(IsLongObstacle(pod_health));
  EXPECT_EQ(pod_health.not_before, kNow + minutes(10));
  TouchStatus status = StatusOf({TouchNeed::kOpen, false, {}, pod_health}, kNow, kWall);
  EXPECT_EQ(status.state, TouchState::kIneffective);
  EXPECT_EQ(status.obstacle, Obstacle::kQuota);
  EXPECT_EQ(status.why, "full");
  EXPECT_EQ(status.next_attempt_at, kWall + minutes(10));
  pod_health = AfterPod(pod_health, {}, kNow, 0);
  EXPECT_EQ(StatusOf({TouchNeed::kOpen, false, {}, pod_health}, kNow, kWall).state, TouchState::kDue);
}

// Nobody waits any longer then.
TEST(StatusOf, SixPassingFailuresSettle) {
  auto settled = [](const TouchHistory& past, const TouchPodHealth& pod_health) {
    return StatusOf({TouchNeed::kOpen, false, past, pod_health}, kNow, kWall).settled;
  };
  TouchHistory past = ForContent({}, "sha256:a", kNow);
  TouchPodHealth pod_health;
  EXPECT_FALSE(settled(past, pod_health)) << "not tried yet";
  for (int i = 0; i < 5; i++) {
    past = AfterTouch(past, {Obstacle::kRegistryTrouble, "away"}, kNow, kWall, 0);
    pod_health = AfterPod(pod_health, {Obstacle::kApiServer, "away"}, kNow, 0);
  }
  EXPECT_FALSE(settled(past, pod_health));
  EXPECT_TRUE(settled(AfterTouch(past, {Obstacle::kRegistryTrouble, "away"}, kNow, kWall, 0), pod_health));
  EXPECT_TRUE(settled(past, AfterPod(pod_health, {Obstacle::kApiServer, "away"}, kNow, 0)));
}

TEST(AfterPod, OnlyRefusalsInARowCount) {
  TouchPodHealth pod_health;
  for (int i = 0; i < 2; i++) pod_health = AfterPod(pod_health, {Obstacle::kQuota, "full"}, kNow, 0);
  pod_health = AfterPod(pod_health, {Obstacle::kApiServer, "away"}, kNow, 0);
  pod_health = AfterPod(pod_health, {Obstacle::kQuota, "full"}, kNow, 0);
  EXPECT_FALSE(IsLongObstacle(pod_health));
  EXPECT_EQ(pod_health.failures, 1);
}

TEST(NextTouch, TwentyAtMost) {
  std::vector<TouchCandidate> due(45);
  for (std::size_t i = 0; i < due.size(); i++) due[i].entry = i;
  std::vector<std::size_t> first(20);
  std::iota(first.begin(), first.end(), 0);
  EXPECT_EQ(NextTouch(due), first);
  EXPECT_EQ(NextTouch({}), std::vector<std::size_t>());
}

TEST(NextTouch, ClosedOnesFirstThenByPriority) {
  EXPECT_EQ(NextTouch({{.entry = 0, .need = TouchNeed::kKeepOpen, .priority = 9},
                       {.entry = 1, .priority = 1},
                       {.entry = 2, .priority = 5},
                       {.entry = 3, .priority = 5}}),
            (std::vector<std::size_t>{2, 3, 1, 0}));
}

TEST(NextTouch, WhatFailedBeforeDoesNotHoldUpTheRest) {
  EXPECT_EQ(NextTouch({{.entry = 0, .failures = 1}, {.entry = 1}, {.entry = 2, .failures = 2}}),
            std::vector<std::size_t>{1});
  EXPECT_EQ(NextTouch({{.entry = 0, .failures = 1}, {.entry = 2, .failures = 2}}),
            (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(NextTouch({{.entry = 0, .failures = 1}, {.entry = 2, .failures = 2}}, 1),
            std::vector<std::size_t>{0});
}

TEST(Touch, AfterARestartOfKubeletWhatWaitsIsDueAndNothingIsForgotten) {
  const base::TimePoint now{std::chrono::hours(1)};
  TouchHistory waiting{.failures = 2, .not_before = now + std::chrono::minutes(2)};
  EXPECT_EQ(AfterKubeletRestart(waiting, now).not_before, now);
  EXPECT_EQ(AfterKubeletRestart(waiting, now).failures, 2);
  TouchHistory given_up{.failures = 3, .not_before = base::TimePoint::max()};
  EXPECT_EQ(AfterKubeletRestart(given_up, now).not_before, base::TimePoint::max());
  TouchPodHealth pod_health{.failures = 3, .not_before = now + std::chrono::minutes(10)};
  EXPECT_EQ(AfterKubeletRestart(pod_health, now).not_before, now);
  EXPECT_EQ(AfterKubeletRestart(pod_health, now).failures, 3);
  TouchPodHealth due{.not_before = now - std::chrono::minutes(1)};
  EXPECT_EQ(AfterKubeletRestart(due, now).not_before, due.not_before);
}

}  // namespace
}  // namespace prefetch::plan::touch_test
