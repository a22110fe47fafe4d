// Further decisions of R44 and R45: order of causes, times, ages; and their meaning for pods with Always.
#include "plan/freshness.h"

#include <gtest/gtest.h>

#include "plan/refresh_rows.h"
#include "rows.h"

namespace prefetch::plan::refresh_details_test {
using enum Reason;

namespace {

// Silence, ages, and several causes at once (R45).
TEST_ROWS(
    Details, RefreshTest,
    {"OneSilentCheckIsNone", Fails().Same().Unreachable(1h), 62min, Stale(kUnreachable)},
    {"TwoSilentChecksWithinAMinuteAreNone", Fails().Same().Unreachable(1h).Unreachable(1h + 30s), 1h + 59s,
     Stale(kUnreachable)},
    {"TheMinuteIsOver", Fails().Same().Unreachable(1h).Unreachable(1h + 30s), 61min, NotReady(kUnreachable)},
    {"ReadyAtOnceWhenItAnswers", SilentTwice(Fails()).Same("a", 70min), 70min, Ready(kUpToDate)},
    {"UnpluggingTheCableDoesNotUndoADenial", Fails().Same().Denied(1h).Unreachable(66min), 66min,
     NotReady(kAccessDenied)},
    {"UnpluggingTheCableDoesNotBringATagBack", Fails().Missing().Missing(1min).Unreachable(1h), 1h,
     NotReady(kTagMissing)},
    {"ATagThatReturnsIsReady", Fails().Missing().Missing(1min).Same("a", 1h), 1h, Ready(kUpToDate)},
    {"ATagThatReturnsOnceIsNotMissingTwice", Fails().Missing().Same("a", 30min).Missing(1h), 1h,
     Stale(kTagMissingUnconfirmed)},
    {"SilenceBetweenDoesNotMakeATagLessMissing", Fails().Missing().Unreachable(1min).Missing(3min), 3min,
     NotReady(kTagMissing)},
    {"NothingIsPulledForATagThatIsGone", Keeps().Moved().Missing(1h).Missing(61min), 2h, Stale(kTagMissing)},
    {"NothingIsPulledWhereAccessIsDenied", Keeps().Moved().Denied(1h), 2h, Stale(kAccessDenied)},
    {"SomebodyElsePulledIt", Keeps().Moved().Replaced("b", 1min), 1min, Ready(kUpToDate)},
    {"SomebodyElsePulledItAfterADenial", Fails().Moved().Denied(1min).Replaced("b", 2min), 2min,
     NotReady(kAccessDenied)},
    {"SomebodyElseTaggedOver", Keeps().Same().Replaced("x", 1min), 1min, Stale(kNotChecked)},
    {"WhatSomebodyElseTaggedIsAskedFor", Keeps().Same().Replaced("x", 1min).Moved("a", 1min), 1min,
     Stale(kTagMoved, kPulls)},
    {"SomebodyElseTaggedOverAlways", Always().Same().Replaced("x", 1min), 2min, NotReady(kCheckOverdue)},
    {"AfterAStartFreshnessIsUnknown", Fails(), 59min, Stale(kNotChecked)},
    {"FreshnessEndsAfterTwoIntervals", Keeps().Same(), 2h, Stale(kCheckOverdue)},
    {"NewCredentialsEndFreshness", Fails().Same().NewCredentials(1min), 1min, Stale(kNotChecked)},
    {"NewCredentialsHaveAMinuteAlways", Always().Same().NewCredentials(1min), 1min + 59s, Stale(kNotChecked)},
    {"NewCredentialsMustBeConfirmedAlways", Always().Same().NewCredentials(1min), 2min,
     NotReady(kCheckOverdue)},
    {"NewCredentialsAreConfirmed", Always().Same().NewCredentials(1min).Same("a", 1min + 5s), 3min,
     Ready(kUpToDate)},
    {"OlderThanMaxAgeKept", WithMaxAge(Keeps(), 24h).Same().Unreachable(1h).Unreachable(2h), 24h,
     Stale(kUnreachable)},
    {"OlderThanMaxAge", WithMaxAge(Fails(), 24h).Same(), 24h, NotReady(kStale)},
    {"YoungerThanMaxAge", WithMaxAge(Fails(), 24h).Same(), 23h, Ready(kUpToDate)},
    {"ARestartCountsMaxAgeFromThere", WithMaxAge(Fails(), 24h), 23h, Stale(kNotChecked)},
    {"ARestartDoesNotCountForEver", WithMaxAge(Fails(), 24h), 24h, NotReady(kStale)},
    {"NewCredentialsBeginTheAgeAnew", WithMaxAge(Fails(), 24h).Same().NewCredentials(20h), 43h,
     Stale(kNotChecked)},
    {"NewCredentialsBeginTheAgeOnce", WithMaxAge(Fails(), 24h).Same().NewCredentials(20h), 44h,
     NotReady(kStale)},
    {"ADenialClearsTheAge",
     With(WithMaxAge(Keeps(), 24h), [](auto& d) { d.on_stale = OnFailure::kNotReady; }).Same().Denied(1h), 1h,
     NotReady(kStale)},
    {"OnlyByPullIsPulledEachInterval", Keeps().OnlyByPull(1h), 1h, Stale(kNotChecked, kPulls)},
    {"LeftToAPullIsPulled", Keeps().LeftToAPull(1h), 1h, Stale(kIndeterminate, kPulls)},
    {"LeftToAPullIsNotPulledTwiceADay", Keeps().LeftToAPull(1h).Pulled("a", 1h).LeftToAPull(2h), 2h,
     Stale(kIndeterminate)},
    {"LeftToAPullIsPulledTheNextDay", Keeps().LeftToAPull(1h).Pulled("a", 1h).LeftToAPull(25h), 25h,
     Stale(kIndeterminate, kPulls)},
    {"LeftToAPullIsPulledEachIntervalWhereReadinessNeedsIt",
     Fails().LeftToAPull(1h).Pulled("a", 1h).LeftToAPull(2h), 2h, NotReady(kIndeterminate, kPulls)},
    {"OnlyByPullWasTheSame", Keeps().OnlyByPull(1h).Pulled("a", 1h), 61min, Ready(kUpToDate)},
    {"OnlyByPullChanged", Keeps().OnlyByPull(1h).Pulled("b", 1h), 61min, Ready(kUpToDate)},
    {"OnlyByPullFailed",
     Fails().OnlyByPull(1h).PullFailed(kUnreachable, 1h).OnlyByPull(62min).PullFailed(kUnreachable, 63min),
     63min, NotReady(kUnreachable)},
    {"NotAskedSinceItsRegistryIsHeldIsSilence", Fails().Same().NotAsked(1h).NotAsked(62min), 62min,
     NotReady(kUnreachable)});

struct AlwaysCase {
  std::string name;
  RegistryStory story;
  base::Duration now;
  Reason why;  // kUpToDate: a pod with Always would pass
};

TEST_TABLE(ForAlwaysTest, Row, AlwaysCase) {
  RefreshDecision decision = row.story.Decided(row.now);
  EXPECT_EQ(base::EnumName(decision.always_reason), base::EnumName(row.why));
  EXPECT_EQ(decision.agrees, row.why == kUpToDate);
}

// readyFor Always: present, and the registry answered Same within 2 x refreshInterval.
TEST_ROWS(ReadyFor, ForAlwaysTest, {"NotAskedYet", ForAlways(Keeps()), 1min, kNotChecked},
          {"Same", ForAlways(Keeps()).Same(), 119min, kUpToDate},
          {"TooLongAgo", ForAlways(Keeps()).Same(), 2h, kCheckOverdue},
          {"AShortOutageIsNone", SilentTwice(ForAlways(Keeps())), 119min, kUpToDate},
          {"ALongOneIs", SilentTwice(ForAlways(Keeps())), 2h, kUnreachable},
          {"Denied", ForAlways(Keeps()).Same().Denied(1min), 1min, kAccessDenied},
          {"MissingOnce", ForAlways(Keeps()).Same().Missing(1min), 1min, kUpToDate},
          {"Missing", ForAlways(Keeps()).Same().Missing(1min).Missing(2min), 2min, kTagMissing},
          {"Moved", ForAlways(Keeps()).Same().Moved("b", 1min), 1min, kTagMoved},
          {"MovedAndPulled", ForAlways(Keeps()).Moved().Pulled("b", 1min), 2min, kUpToDate},
          {"IfNotPresentIsAskedToo", ForAlways(IfNotPresent()).Same(), 1min, kUpToDate},
          {"R33ADigestIsAskedForAccess", ForAlways(Want(Refresh::kIfNotPresent, kByDigest)).Same(), 1min,
           kUpToDate},
          {"Unclear", ForAlways(IfNotPresent()).Unclear(), 1min, kIndeterminate});

TEST(ForAlways, IfNotPresentIsNeverPulledAgain) {
  RegistryStory story = ForAlways(IfNotPresent());
  EXPECT_FALSE(story.Moved().Decided(1min).pull);
  EXPECT_FALSE(story.Unclear(2min).Decided(3min).pull);
}

// A pull of a digest replaces nothing, so it may be the check, but a digest that the registry names is not
// pulled.
TEST(ForAlways, ADigestIsCheckedByPullWithIfNotPresent) {
  RegistryStory story = ForAlways(Want(Refresh::kIfNotPresent, kByDigest));
  EXPECT_FALSE(story.Moved().Decided(1min).pull);
  EXPECT_TRUE(story.OnlyByPull(2min).Decided(3min).pull);
  EXPECT_EQ(story.Decided(3min).pull_reason, kCheckedByPull);
  EXPECT_TRUE(story.Pulled("a", 4min).Decided(5min).agrees);
  EXPECT_FALSE(story.Decided(5min).pull);
}

}  // namespace
}  // namespace prefetch::plan::refresh_details_test
