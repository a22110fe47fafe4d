// Further decisions of R44 and R45: order of causes, times, ages; and their meaning for pods with Always.
#include "plan/freshness.h"

#include <gtest/gtest.h>

#include "plan/refresh_rows.h"
#include "rows.h"

namespace prefetch::plan::refresh_details_test {
namespace {

// Silence, ages, and several causes at once (R45).
TEST_ROWS(
    Details, RefreshTest,
    {"OneSilentCheckIsNone", RegistryStory(Fails()).Same("a", kStart).Unreachable(hours(1)), minutes(62),
     Stale(Reason::kUnreachable)},
    {"TwoSilentChecksWithinAMinuteAreNone",
     RegistryStory(Fails()).Same("a", kStart).Unreachable(hours(1)).Unreachable(hours(1) + seconds(30)),
     hours(1) + seconds(59), Stale(Reason::kUnreachable)},
    {"TheMinuteIsOver",
     RegistryStory(Fails()).Same("a", kStart).Unreachable(hours(1)).Unreachable(hours(1) + seconds(30)),
     minutes(61), NotReady(Reason::kUnreachable)},
    {"ReadyAtOnceWhenItAnswers", SilentTwice(Fails()).Same("a", minutes(70)), minutes(70),
     Ready(Reason::kUpToDate)},
    {"UnpluggingTheCableDoesNotUndoADenial",
     RegistryStory(Fails()).Same("a", kStart).Denied(hours(1)).Unreachable(minutes(66)), minutes(66),
     NotReady(Reason::kAccessDenied)},
    {"UnpluggingTheCableDoesNotBringATagBack",
     RegistryStory(Fails()).Missing(kStart).Missing(minutes(1)).Unreachable(hours(1)), hours(1),
     NotReady(Reason::kTagMissing)},
    {"ATagThatReturnsIsReady", RegistryStory(Fails()).Missing(kStart).Missing(minutes(1)).Same("a", hours(1)),
     hours(1), Ready(Reason::kUpToDate)},
    {"ATagThatReturnsOnceIsNotMissingTwice",
     RegistryStory(Fails()).Missing(kStart).Same("a", minutes(30)).Missing(hours(1)), hours(1),
     Stale(Reason::kTagMissingUnconfirmed)},
    {"SilenceBetweenDoesNotMakeATagLessMissing",
     RegistryStory(Fails()).Missing(kStart).Unreachable(minutes(1)).Missing(minutes(3)), minutes(3),
     NotReady(Reason::kTagMissing)},
    {"NothingIsPulledForATagThatIsGone",
     RegistryStory(Keeps()).Moved("b", kStart).Missing(hours(1)).Missing(minutes(61)), hours(2),
     Stale(Reason::kTagMissing)},
    {"NothingIsPulledWhereAccessIsDenied", RegistryStory(Keeps()).Moved("b", kStart).Denied(hours(1)),
     hours(2), Stale(Reason::kAccessDenied)},
    {"SomebodyElsePulledIt", RegistryStory(Keeps()).Moved("b", kStart).Replaced("b", minutes(1)), minutes(1),
     Ready(Reason::kUpToDate)},
    {"SomebodyElsePulledItAfterADenial",
     RegistryStory(Fails()).Moved("b", kStart).Denied(minutes(1)).Replaced("b", minutes(2)), minutes(2),
     NotReady(Reason::kAccessDenied)},
    {"SomebodyElseTaggedOver", RegistryStory(Keeps()).Same("a", kStart).Replaced("x", minutes(1)), minutes(1),
     Stale(Reason::kNotChecked)},
    {"WhatSomebodyElseTaggedIsAskedFor",
     RegistryStory(Keeps()).Same("a", kStart).Replaced("x", minutes(1)).Moved("a", minutes(1)), minutes(1),
     Stale(Reason::kTagMoved, Pulls::kYes)},
    {"SomebodyElseTaggedOverAlways", RegistryStory(Always()).Same("a", kStart).Replaced("x", minutes(1)),
     minutes(2), NotReady(Reason::kCheckOverdue)},
    {"AfterAStartFreshnessIsUnknown", RegistryStory(Fails()), minutes(59), Stale(Reason::kNotChecked)},
    {"FreshnessEndsAfterTwoIntervals", RegistryStory(Keeps()).Same("a", kStart), hours(2),
     Stale(Reason::kCheckOverdue)},
    {"NewCredentialsEndFreshness", RegistryStory(Fails()).Same("a", kStart).NewCredentials(minutes(1)),
     minutes(1), Stale(Reason::kNotChecked)},
    {"NewCredentialsHaveAMinuteAlways", RegistryStory(Always()).Same("a", kStart).NewCredentials(minutes(1)),
     minutes(1) + seconds(59), Stale(Reason::kNotChecked)},
    {"NewCredentialsMustBeConfirmedAlways",
     RegistryStory(Always()).Same("a", kStart).NewCredentials(minutes(1)), minutes(2),
     NotReady(Reason::kCheckOverdue)},
    {"NewCredentialsAreConfirmed",
     RegistryStory(Always()).Same("a", kStart).NewCredentials(minutes(1)).Same("a", minutes(1) + seconds(5)),
     minutes(3), Ready(Reason::kUpToDate)},
    {"OlderThanMaxAgeKept",
     RegistryStory(WithMaxAge(Keeps(), hours(24)))
         .Same("a", kStart)
         .Unreachable(hours(1))
         .Unreachable(hours(2)),
     hours(24), Stale(Reason::kUnreachable)},
    {"OlderThanMaxAge", RegistryStory(WithMaxAge(Fails(), hours(24))).Same("a", kStart), hours(24),
     NotReady(Reason::kStale)},
    {"YoungerThanMaxAge", RegistryStory(WithMaxAge(Fails(), hours(24))).Same("a", kStart), hours(23),
     Ready(Reason::kUpToDate)},
    {"ARestartCountsMaxAgeFromThere", RegistryStory(WithMaxAge(Fails(), hours(24))), hours(23),
     Stale(Reason::kNotChecked)},
    {"ARestartDoesNotCountForEver", RegistryStory(WithMaxAge(Fails(), hours(24))), hours(24),
     NotReady(Reason::kStale)},
    {"NewCredentialsBeginTheAgeAnew",
     RegistryStory(WithMaxAge(Fails(), hours(24))).Same("a", kStart).NewCredentials(hours(20)), hours(43),
     Stale(Reason::kNotChecked)},
    {"NewCredentialsBeginTheAgeOnce",
     RegistryStory(WithMaxAge(Fails(), hours(24))).Same("a", kStart).NewCredentials(hours(20)), hours(44),
     NotReady(Reason::kStale)},
    {"ADenialClearsTheAge",
     RegistryStory([] {
       DesiredImage desired = WithMaxAge(Keeps(), hours(24));
       desired.on_stale = OnFailure::kNotReady;
       return desired;
     }())
         .Same("a", kStart)
         .Denied(hours(1)),
     hours(1), NotReady(Reason::kStale)},
    {"OnlyByPullIsPulledEachInterval", RegistryStory(Keeps()).OnlyByPull(hours(1)), hours(1),
     Stale(Reason::kNotChecked, Pulls::kYes)},
    {"LeftToAPullIsPulled", RegistryStory(Keeps()).LeftToAPull(hours(1)), hours(1),
     Stale(Reason::kIndeterminate, Pulls::kYes)},
    {"LeftToAPullIsNotPulledTwiceADay",
     RegistryStory(Keeps()).LeftToAPull(hours(1)).Pulled("a", hours(1)).LeftToAPull(hours(2)), hours(2),
     Stale(Reason::kIndeterminate)},
    {"LeftToAPullIsPulledTheNextDay",
     RegistryStory(Keeps()).LeftToAPull(hours(1)).Pulled("a", hours(1)).LeftToAPull(hours(25)), hours(25),
     Stale(Reason::kIndeterminate, Pulls::kYes)},
    {"LeftToAPullIsPulledEachIntervalWhereReadinessNeedsIt",
     RegistryStory(Fails()).LeftToAPull(hours(1)).Pulled("a", hours(1)).LeftToAPull(hours(2)), hours(2),
     NotReady(Reason::kIndeterminate, Pulls::kYes)},
    {"OnlyByPullWasTheSame", RegistryStory(Keeps()).OnlyByPull(hours(1)).Pulled("a", hours(1)), minutes(61),
     Ready(Reason::kUpToDate)},
    {"OnlyByPullChanged", RegistryStory(Keeps()).OnlyByPull(hours(1)).Pulled("b", hours(1)), minutes(61),
     Ready(Reason::kUpToDate)},
    {"OnlyByPullFailed",
     RegistryStory(Fails())
         .OnlyByPull(hours(1))
         .PullFailed(Reason::kUnreachable, hours(1))
         .OnlyByPull(minutes(62))
         .PullFailed(Reason::kUnreachable, minutes(63)),
     minutes(63), NotReady(Reason::kUnreachable)},
    {"NotAskedSinceItsRegistryIsHeldIsSilence",
     RegistryStory(Fails()).Same("a", kStart).NotAsked(hours(1)).NotAsked(minutes(62)), minutes(62),
     NotReady(Reason::kUnreachable)});

struct AlwaysCase {
  std::string name;
  RegistryStory story;
  base::Duration now;
  Reason why;  // kUpToDate: a pod with Always would pass
};

TEST_TABLE(ForAlwaysTest, Row, AlwaysCase) {
  RefreshDecision decision = row.story.Decided(row.now);
  EXPECT_EQ(base::EnumName(decision.always_reason), base::EnumName(row.why));
  EXPECT_EQ(decision.agrees, row.why == Reason::kUpToDate);
}

// readyFor Always: present, and the registry answered Same within 2 x refreshInterval.
TEST_ROWS(ReadyFor, ForAlwaysTest,
          {"NotAskedYet", RegistryStory(ForAlways(Keeps())), minutes(1), Reason::kNotChecked},
          {"Same", RegistryStory(ForAlways(Keeps())).Same("a", kStart), minutes(119), Reason::kUpToDate},
          {"TooLongAgo", RegistryStory(ForAlways(Keeps())).Same("a", kStart), hours(2),
           Reason::kCheckOverdue},
          {"AShortOutageIsNone", SilentTwice(ForAlways(Keeps())), minutes(119), Reason::kUpToDate},
          {"ALongOneIs", SilentTwice(ForAlways(Keeps())), hours(2), Reason::kUnreachable},
          {"Denied", RegistryStory(ForAlways(Keeps())).Same("a", kStart).Denied(minutes(1)), minutes(1),
           Reason::kAccessDenied},
          {"MissingOnce", RegistryStory(ForAlways(Keeps())).Same("a", kStart).Missing(minutes(1)), minutes(1),
           Reason::kUpToDate},
          {"Missing",
           RegistryStory(ForAlways(Keeps())).Same("a", kStart).Missing(minutes(1)).Missing(minutes(2)),
           minutes(2), Reason::kTagMissing},
          {"Moved", RegistryStory(ForAlways(Keeps())).Same("a", kStart).Moved("b", minutes(1)), minutes(1),
           Reason::kTagMoved},
          {"MovedAndPulled", RegistryStory(ForAlways(Keeps())).Moved("b", kStart).Pulled("b", minutes(1)),
           minutes(2), Reason::kUpToDate},
          {"IfNotPresentIsAskedToo", RegistryStory(ForAlways(IfNotPresent())).Same("a", kStart), minutes(1),
           Reason::kUpToDate},
          {"R33ADigestIsAskedForAccess",
           RegistryStory(ForAlways(Want(Refresh::kIfNotPresent, kByDigest))).Same("a", kStart), minutes(1),
           Reason::kUpToDate},
          {"Unclear", RegistryStory(ForAlways(IfNotPresent())).Unclear(kStart), minutes(1),
           Reason::kIndeterminate});

TEST(ForAlways, IfNotPresentIsNeverPulledAgain) {
  RegistryStory story(ForAlways(IfNotPresent()));
  EXPECT_FALSE(story.Moved("b", kStart).Decided(minutes(1)).pull);
  EXPECT_FALSE(story.Unclear(minutes(2)).Decided(minutes(3)).pull);
}

// A pull of a digest replaces nothing, so it may be the check, but a digest that the registry names is not
// pulled.
TEST(ForAlways, ADigestIsCheckedByPullWithIfNotPresent) {
  RegistryStory story(ForAlways(Want(Refresh::kIfNotPresent, kByDigest)));
  EXPECT_FALSE(story.Moved("b", kStart).Decided(minutes(1)).pull);
  EXPECT_TRUE(story.OnlyByPull(minutes(2)).Decided(minutes(3)).pull);
  EXPECT_EQ(story.Decided(minutes(3)).pull_reason, Reason::kCheckedByPull);
  EXPECT_TRUE(story.Pulled("a", minutes(4)).Decided(minutes(5)).agrees);
  EXPECT_FALSE(story.Decided(minutes(5)).pull);
}

}  // namespace
}  // namespace prefetch::plan::refresh_details_test
