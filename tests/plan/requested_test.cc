#include "plan/check.h"

#include <gtest/gtest.h>

namespace prefetch::plan::asked_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
const base::TimePoint kNow{hours(100)};

struct DecideCase {
  std::string name;
  base::Duration wish_left;
  bool here;
  std::optional<Reason> failed;
  base::Duration patience;
  Action expect;
};
class DecideAskedTest : public testing::TestWithParam<DecideCase> {};

TEST_P(DecideAskedTest, Row) {
  const DecideCase& row = GetParam();
  Observation seen{.known = true, .local = {}};
  if (row.here) seen.local = Local{.id = "sha256:aa"};
  History past;
  past.last_failure = row.failed;
  past.not_before = kNow + row.patience;
  EXPECT_EQ(DecideRequested(seen, past, kNow + row.wish_left, kNow), row.expect);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, DecideAskedTest,
    testing::Values(
        DecideCase{"IsPulled", seconds(1), false, {}, {}, {ActionKind::kPull, Reason::kImageAbsent}},
        DecideCase{"NobodyWaits", seconds(0), false, {}, {}, {ActionKind::kKeep, Reason::kImageAbsent}},
        DecideCase{"IsHere", seconds(1), true, {}, {}, {ActionKind::kKeep, Reason::kPresent}},
        DecideCase{"IsHereAndNobodyWaits", seconds(0), true, {}, {}, {ActionKind::kKeep, Reason::kPresent}},
        DecideCase{"AFailureAsksForPatience",
                   seconds(1),
                   false,
                   Reason::kAccessDenied,
                   minutes(5),
                   {ActionKind::kWait, Reason::kAccessDenied, kNow + minutes(5)}},
        DecideCase{"PatienceIsOver",
                   seconds(1),
                   false,
                   Reason::kAccessDenied,
                   seconds(0),
                   {ActionKind::kPull, Reason::kImageAbsent}},
        DecideCase{"NothingIsTriedAgainForNobody",
                   seconds(0),
                   false,
                   Reason::kUnreachable,
                   seconds(0),
                   {ActionKind::kKeep, Reason::kUnreachable}}),
    [](const auto& row) { return row.param.name; });

TEST(ForgetRequestedAt, WhatAsksForPatienceIsKeptInMindForAnHourAtMost) {
  History past;
  EXPECT_EQ(ForgetRequestedAt(past, kNow), kNow);
  past.not_before = kNow + minutes(5);
  EXPECT_EQ(ForgetRequestedAt(past, kNow), kNow + minutes(5));
  past.not_before = base::TimePoint::max();
  EXPECT_EQ(ForgetRequestedAt(past, kNow), kNow + hours(1));
}

ImageState Image(const std::string& name) {
  ImageState image;
  image.desired.Change([&](DesiredImage& desired) { desired.reference = *image::Reference::Parse(name); });
  return image;
}

// A pull for an earlier question does not answer a later one.
TEST(PulledFor, IsTheListsEntryOrWhatWasAskedForSince) {
  const auto a = *image::Reference::Parse("quay.io/acme/a:v1");
  const auto b = *image::Reference::Parse("quay.io/acme/b:v1");
  Snapshot snapshot;
  snapshot.images = {Image("quay.io/acme/a:v1")};
  snapshot.requested = {Image("quay.io/acme/b:v1")};
  snapshot.requested[0].requested_at = kNow;
  EXPECT_EQ(FindRequestedImage(snapshot, a, kNow + hours(1)), &snapshot.images[0]);
  EXPECT_EQ(FindRequestedImage(snapshot, b, kNow), &snapshot.requested[0]);
  EXPECT_EQ(FindRequestedImage(snapshot, b, kNow + seconds(1)), nullptr);
  EXPECT_EQ(FindRequestedImage(snapshot, *image::Reference::Parse("quay.io/acme/c:v1"), kNow), nullptr);
}

// The request may have ended the back-off of a failure that the Snapshot still shows.
TEST(PulledFor, AFailureFromBeforeTheRequestIsNoAnswer) {
  Snapshot snapshot;
  snapshot.images = {Image("quay.io/acme/a:v1")};
  snapshot.images[0].phase = Phase::kFailing;
  snapshot.images[0].reason = Reason::kNotFound;
  snapshot.images[0].pull.state = PullState::kWaiting;
  snapshot.images[0].requested_at = kNow;
  const auto a = *image::Reference::Parse("quay.io/acme/a:v1");
  EXPECT_EQ(FindRequestedImage(snapshot, a, kNow), &snapshot.images[0]);
  EXPECT_EQ(FindRequestedImage(snapshot, a, kNow + seconds(1)), nullptr);
}

struct StateCase {
  std::string name;
  ImageState image;
  RequestedState expect;
};
class StateOfAskedTest : public testing::TestWithParam<StateCase> {};

TEST_P(StateOfAskedTest, Row) {
  EXPECT_EQ(StateOfRequested(GetParam().image), GetParam().expect);
}

StateCase State(std::string name, Phase phase, Reason reason, PullState state, int attempts,
                RequestedState expect) {
  ImageState image;
  image.phase = phase;
  image.reason = reason;
  image.pull.state = state;
  image.pull.attempts = attempts;
  return {std::move(name), std::move(image), expect};
}
StateCase Usable() {
  StateCase row = State("Here", Phase::kFailing, Reason::kRecordedForOthers, PullState::kDone, 1,
                        RequestedState::kPresent);
  row.image.usable = true;
  return row;
}
StateCase OnOtherNodes() {
  StateCase row = State("OnOtherNodesOnly", Phase::kReady, Reason::kOtherPlatform, PullState::kNone, 0,
                        RequestedState::kFailed);
  row.image.applies = false;
  return row;
}

INSTANTIATE_TEST_SUITE_P(Rows, StateOfAskedTest,
                         testing::Values(Usable(), OnOtherNodes(),
                                         State("Queued", Phase::kProgressing, Reason::kQueued,
                                               PullState::kQueued, 0, RequestedState::kPending),
                                         State("Pulled", Phase::kProgressing, Reason::kPulling,
                                               PullState::kPulling, 1, RequestedState::kPending),
                                         State("Denied", Phase::kFailing, Reason::kAccessDenied,
                                               PullState::kWaiting, 1, RequestedState::kFailed),
                                         State("DeniedAndItsTurnAgain", Phase::kFailing,
                                               Reason::kAccessDenied, PullState::kQueued, 1,
                                               RequestedState::kPending),
                                         State("NeverAgain", Phase::kFailing, Reason::kPlatformMismatch,
                                               PullState::kFailed, 1, RequestedState::kFailed),
                                         State("AwayForAMoment", Phase::kFailing, Reason::kUnreachable,
                                               PullState::kWaiting, 2, RequestedState::kPending),
                                         State("AwayForLong", Phase::kFailing, Reason::kUnreachable,
                                               PullState::kWaiting, 6, RequestedState::kFailed),
                                         State("NoRoom", Phase::kFailing, Reason::kDiskPressure,
                                               PullState::kQueued, 0, RequestedState::kFailed),
                                         State("OfAnotherPlatform", Phase::kFailing, Reason::kWrongPlatform,
                                               PullState::kFailed, 1, RequestedState::kFailed)),
                         [](const auto& row) { return row.param.name; });

TEST(AwaitsRetry, WhatABackoffHolds) {
  const auto awaits = [](PullState state, std::optional<image::RegistryAnswerKind> answer = std::nullopt) {
    ImageState image;
    image.pull.state = state;
    if (answer) image.registry = std::make_shared<const RegistryView>(RegistryView{.answer = answer});
    return AwaitsRetry(image);
  };
  EXPECT_TRUE(awaits(PullState::kWaiting));
  EXPECT_TRUE(awaits(PullState::kFailed));
  EXPECT_FALSE(awaits(PullState::kQueued));
  EXPECT_FALSE(awaits(PullState::kPulling));
  EXPECT_FALSE(awaits(PullState::kDone));
  EXPECT_FALSE(awaits(PullState::kDone, image::RegistryAnswerKind::kSame));
  EXPECT_TRUE(awaits(PullState::kDone, image::RegistryAnswerKind::kUnreachable)) << "the next check is far";
  EXPECT_TRUE(awaits(PullState::kNone, image::RegistryAnswerKind::kTagMissing));
  ImageState held;
  held.pull = {.state = PullState::kQueued, .held = true};
  EXPECT_TRUE(AwaitsRetry(held)) << "by its registry, or by a full disk";
  ImageState outside;
  outside.pull.next_attempt_at = base::WallTime();
  EXPECT_TRUE(AwaitsRetry(outside)) << "its window opens";
  ImageState other;
  other.applies = false;
  other.pull.state = PullState::kFailed;
  EXPECT_FALSE(AwaitsRetry(other));
}

}  // namespace
}  // namespace prefetch::plan::asked_test
