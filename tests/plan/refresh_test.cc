// spec/registry.md sections 9.3 and 9.4, row by row, in this program's words: ReadyStale is ready and not
// fresh, KeepLocal is Keep, Fail is NotReady.
#include "plan/refresh.h"

#include <gtest/gtest.h>

#include "plan/registry_story.h"

namespace prefetch::plan {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr seconds kStart{0};

DesiredImage Want(Refresh refresh, const std::string& name = "r.io/a:v1") {
  DesiredImage want;
  want.reference = *image::Reference::Parse(name);
  want.refresh = refresh;
  return want;
}
DesiredImage IfNotPresent() {
  return Want(Refresh::kIfNotPresent);
}
// IfDigestChanged with every directive at Keep, or at NotReady.
DesiredImage Keeps() {
  DesiredImage want = Want(Refresh::kIfDigestChanged);
  want.on_access_denied = OnFailure::kKeep;
  return want;
}
DesiredImage Fails() {
  DesiredImage want = Want(Refresh::kIfDigestChanged);
  want.on_unreachable = want.on_access_denied = want.on_tag_missing = want.on_stale = OnFailure::kNotReady;
  return want;
}
DesiredImage Always() {
  return Want(Refresh::kAlways);
}
DesiredImage WithMaxAge(DesiredImage want, seconds age) {
  want.max_age = age;
  return want;
}
DesiredImage ForAlways(DesiredImage want) {
  want.ready_for = image::PullPolicy::kAlways;
  return want;
}

const std::string kByDigest =
    "r.io/a@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

enum class Pulls { kNo, kYes };

struct Said {
  bool ready;
  bool fresh;
  Pulls pull;
  Reason reason;
  friend bool operator==(const Said&, const Said&) = default;
};
void PrintTo(const Said& said, std::ostream* out) {
  *out << (said.ready ? "ready" : "not ready") << (said.fresh ? ", fresh" : ", not fresh")
       << (said.pull == Pulls::kYes ? ", pull, " : ", ") << ReasonName(said.reason);
}
Said Ready(Reason reason) {
  return {true, true, Pulls::kNo, reason};
}
Said Stale(Reason reason, Pulls pull = Pulls::kNo) {
  return {true, false, pull, reason};
}
Said NotReady(Reason reason, Pulls pull = Pulls::kNo) {
  return {false, false, pull, reason};
}

struct RefreshCase {
  std::string name;
  RegistryStory story;
  base::Duration now;
  Said expect;
};

class RefreshTest : public testing::TestWithParam<RefreshCase> {};

TEST_P(RefreshTest, Row) {
  const RefreshCase& row = GetParam();
  RefreshDecision decision = row.story.Decided(row.now);
  Said said{decision.ready, decision.fresh, decision.pull ? Pulls::kYes : Pulls::kNo, decision.reason};
  EXPECT_EQ(said, row.expect);
}

std::string NameOf(const testing::TestParamInfo<RefreshCase>& row) {
  return row.param.name;
}

// Twice without an answer, more than a minute apart.
RegistryStory SilentTwice(DesiredImage want) {
  return RegistryStory(std::move(want)).Same("a", kStart).Unreachable(hours(1)).Unreachable(minutes(62));
}

// 9.3. Rows 1 to 3 (absent, or for another platform) are Decide's; row 9 (whileUpdating: Wait) and the alias
// names are not offered; row 35 is the node's (Summarize).
INSTANTIATE_TEST_SUITE_P(
    Table, RefreshTest,
    testing::Values(
        RefreshCase{"R4IfNotPresentIsNeverAsked",
                    RegistryStory(IfNotPresent()),
                    hours(100),
                    {true, false, Pulls::kNo, Reason::kPresent}},
        RefreshCase{"R5ADigestIsNeverAsked",
                    RegistryStory(Want(Refresh::kIfDigestChanged, kByDigest)),
                    hours(100),
                    {true, false, Pulls::kNo, Reason::kPinnedByDigest}},
        RefreshCase{"R6WithinMaxAgeSilenceIsNoNews",
                    RegistryStory(WithMaxAge(Keeps(), hours(24))).Same("a", kStart).Unreachable(hours(1)),
                    hours(2), Ready(Reason::kUpToDate)},
        RefreshCase{"R7Same", RegistryStory(Keeps()).Same("a", kStart), minutes(1), Ready(Reason::kUpToDate)},
        RefreshCase{"R8MovedIsPulledAndTheOldOneServes", RegistryStory(Keeps()).Moved("b", kStart),
                    minutes(1), Stale(Reason::kTagMoved, Pulls::kYes)},
        RefreshCase{"R10LocalDigestUnknown", RegistryStory(Keeps()).Here("").Moved("b", kStart), minutes(1),
                    Stale(Reason::kLocalDigestUnknown, Pulls::kYes)},
        RefreshCase{"R11MirrorLagHoldsTheNextPull",
                    RegistryStory(Keeps()).Moved("b", kStart).Pulled("a", minutes(1)).Moved("b", minutes(3)),
                    minutes(10), Stale(Reason::kMirrorLag)},
        RefreshCase{"R11MirrorLagIsTriedAgainAfterItsTime",
                    RegistryStory(Keeps()).Moved("b", kStart).Pulled("a", minutes(1)).Moved("b", minutes(3)),
                    minutes(14), Stale(Reason::kMirrorLag, Pulls::kYes)},
        RefreshCase{"R11AnotherDigestEndsTheLag",
                    RegistryStory(Keeps()).Moved("b", kStart).Pulled("a", minutes(1)).Moved("c", minutes(3)),
                    minutes(4), Stale(Reason::kTagMoved, Pulls::kYes)},
        RefreshCase{"R12MissingOnceChangesNothing",
                    RegistryStory(Fails()).Same("a", kStart).Missing(hours(1)), minutes(61),
                    Stale(Reason::kTagMissingUnconfirmed)},
        RefreshCase{
            "R12MissingTwiceWithinAMinuteIsOnce",
            RegistryStory(Fails()).Same("a", kStart).Missing(hours(1)).Missing(hours(1) + seconds(59)),
            minutes(62), Stale(Reason::kTagMissingUnconfirmed)},
        RefreshCase{"R13MissingKept",
                    RegistryStory(Keeps()).Same("a", kStart).Missing(hours(1)).Missing(minutes(61)),
                    minutes(62), Stale(Reason::kTagMissing)},
        RefreshCase{"R14Missing",
                    RegistryStory(Fails()).Same("a", kStart).Missing(hours(1)).Missing(minutes(61)),
                    minutes(62), NotReady(Reason::kTagMissing)},
        RefreshCase{"R15DeniedKept", RegistryStory(Keeps()).Same("a", kStart).Denied(hours(1)), minutes(61),
                    Stale(Reason::kAccessDenied)},
        RefreshCase{"R16DeniedAtOnce", RegistryStory(Fails()).Same("a", kStart).Denied(hours(1)), hours(1),
                    NotReady(Reason::kAccessDenied)},
        RefreshCase{"R16DeniedIsNotReadyByDefault",
                    RegistryStory(Want(Refresh::kIfDigestChanged)).Same("a", kStart).Denied(hours(1)),
                    hours(1), NotReady(Reason::kAccessDenied)},
        RefreshCase{"R17UnreachableKept", SilentTwice(Keeps()), hours(7), Stale(Reason::kUnreachable)},
        RefreshCase{"R18Unreachable", SilentTwice(Fails()), hours(7), NotReady(Reason::kUnreachable)},
        RefreshCase{"R19LimitedKept",
                    RegistryStory(Keeps()).Same("a", kStart).Limited(hours(1)).Limited(minutes(62)),
                    minutes(63), Stale(Reason::kRateLimited)},
        RefreshCase{"R20Limited",
                    RegistryStory(Fails()).Same("a", kStart).Limited(hours(1)).Limited(minutes(62)),
                    minutes(63), NotReady(Reason::kRateLimited)},
        RefreshCase{"R21ServerErrorKept",
                    RegistryStory(Keeps()).Same("a", kStart).ServerError(hours(1)).ServerError(minutes(62)),
                    minutes(63), Stale(Reason::kServerError)},
        RefreshCase{"R22ServerError",
                    RegistryStory(Fails()).Same("a", kStart).ServerError(hours(1)).ServerError(minutes(62)),
                    minutes(63), NotReady(Reason::kServerError)},
        RefreshCase{"R23UnclearKeptAndPulledOnce", RegistryStory(Keeps()).Same("a", kStart).Unclear(hours(1)),
                    minutes(61), Stale(Reason::kIndeterminate, Pulls::kYes)},
        RefreshCase{"R23UnclearIsNotPulledTwiceADay",
                    RegistryStory(Keeps()).Unclear(hours(1)).Pulled("a", hours(1)).Unclear(hours(2)),
                    hours(2), Stale(Reason::kIndeterminate)},
        RefreshCase{"R23UnclearIsPulledTheNextDay",
                    RegistryStory(Keeps()).Unclear(hours(1)).Pulled("a", hours(1)).Unclear(hours(25)),
                    hours(25), Stale(Reason::kIndeterminate, Pulls::kYes)},
        RefreshCase{"R24Unclear", RegistryStory(Fails()).Same("a", kStart).Unclear(hours(1)), hours(1),
                    NotReady(Reason::kIndeterminate, Pulls::kYes)},
        RefreshCase{"R25AlwaysSame", RegistryStory(Always()).Same("a", kStart), minutes(1),
                    Ready(Reason::kUpToDate)},
        RefreshCase{"R26AlwaysMoved", RegistryStory(Always()).Same("a", kStart).Moved("b", hours(1)),
                    hours(1), NotReady(Reason::kTagMoved, Pulls::kYes)},
        RefreshCase{"R27AlwaysMissing",
                    RegistryStory(Always()).Same("a", kStart).Missing(hours(1)).Missing(minutes(61)),
                    minutes(61), NotReady(Reason::kTagMissing)},
        RefreshCase{"DeniedNoMore",
                    RegistryStory(Fails()).Same("a", kStart).Denied(hours(1)).Same("a", minutes(66)),
                    minutes(67), Ready(Reason::kUpToDate)},
        RefreshCase{"MissedByAPullAfterOneThatFailed",
                    RegistryStory(Keeps())
                        .Moved("b", kStart)
                        .PullFailed(Reason::kUnpackFailed, minutes(1))
                        .Pulled("a", minutes(3)),
                    minutes(4), Stale(Reason::kMirrorLag)},
        RefreshCase{"R28AlwaysDenied", RegistryStory(Always()).Same("a", kStart).Denied(hours(1)), hours(1),
                    NotReady(Reason::kAccessDenied)},
        RefreshCase{"R29AlwaysUnreachable", SilentTwice(Always()), minutes(63),
                    NotReady(Reason::kUnreachable)},
        RefreshCase{"R30AlwaysLimited",
                    RegistryStory(Always()).Same("a", kStart).Limited(hours(1)).Limited(minutes(62)),
                    minutes(63), NotReady(Reason::kRateLimited)},
        RefreshCase{"R31AlwaysServerError",
                    RegistryStory(Always()).Same("a", kStart).ServerError(hours(1)).ServerError(minutes(62)),
                    minutes(63), NotReady(Reason::kServerError)},
        RefreshCase{"R32AlwaysUnclear", RegistryStory(Always()).Same("a", kStart).Unclear(hours(1)), hours(1),
                    NotReady(Reason::kIndeterminate, Pulls::kYes)},
        RefreshCase{"R34AlwaysNotAskedYet", RegistryStory(Always()), minutes(1),
                    NotReady(Reason::kNotChecked)},
        RefreshCase{"R34AlwaysBetweenCycles", RegistryStory(Always()).Same("a", kStart), minutes(119),
                    Ready(Reason::kUpToDate)},
        RefreshCase{"R34AlwaysOverdue", RegistryStory(Always()).Same("a", kStart), hours(2),
                    NotReady(Reason::kCheckOverdue)}),
    NameOf);

// 9.4. "Absent" rows are Decide's; a pull that brought another platform has replaced what was here.
INSTANTIATE_TEST_SUITE_P(
    AfterAPull, RefreshTest,
    testing::Values(
        RefreshCase{"Updated", RegistryStory(Keeps()).Moved("b", kStart).Pulled("b", minutes(1)), minutes(2),
                    Ready(Reason::kUpToDate)},
        RefreshCase{"UpdatedAlways", RegistryStory(Always()).Moved("b", kStart).Pulled("b", minutes(1)),
                    minutes(2), Ready(Reason::kUpToDate)},
        RefreshCase{"LacksWhatTheRegistryNames",
                    RegistryStory(Keeps()).Moved("b", kStart).Pulled("a", minutes(1)), minutes(2),
                    Stale(Reason::kMirrorLag)},
        RefreshCase{"LacksItAlways",
                    RegistryStory(Always()).Same("a", kStart).Moved("b", hours(1)).Pulled("c", minutes(61)),
                    minutes(62), Stale(Reason::kMirrorLag)},
        RefreshCase{"DeniedKept",
                    RegistryStory(Keeps()).Moved("b", kStart).PullFailed(Reason::kAccessDenied, minutes(1)),
                    minutes(2), Stale(Reason::kAccessDenied)},
        RefreshCase{"Denied",
                    RegistryStory(Fails()).Moved("b", kStart).PullFailed(Reason::kAccessDenied, minutes(1)),
                    minutes(2), NotReady(Reason::kAccessDenied)},
        RefreshCase{"NotFoundOnceIsAskedAgain",
                    RegistryStory(Fails()).Moved("b", kStart).PullFailed(Reason::kNotFound, minutes(1)),
                    minutes(2), Stale(Reason::kTagMissingUnconfirmed)},
        RefreshCase{"NotFoundThenMissing",
                    RegistryStory(Fails())
                        .Moved("b", kStart)
                        .PullFailed(Reason::kNotFound, minutes(1))
                        .Missing(minutes(3)),
                    minutes(3), NotReady(Reason::kTagMissing)},
        RefreshCase{"UnreachableOnce",
                    RegistryStory(Fails()).Moved("b", kStart).PullFailed(Reason::kDnsFailure, minutes(1)),
                    minutes(1), Stale(Reason::kUnreachable, Pulls::kYes)},
        RefreshCase{"UnreachableTwice",
                    RegistryStory(Fails())
                        .Moved("b", kStart)
                        .PullFailed(Reason::kUnreachable, minutes(1))
                        .PullFailed(Reason::kTlsError, minutes(2)),
                    minutes(2), NotReady(Reason::kUnreachable, Pulls::kYes)},
        RefreshCase{"LimitedKept",
                    RegistryStory(Keeps()).Moved("b", kStart).PullFailed(Reason::kRateLimited, minutes(1)),
                    minutes(2), Stale(Reason::kRateLimited, Pulls::kYes)},
        RefreshCase{"DiskFullNeedsNoDirective",
                    RegistryStory(Fails()).Moved("b", kStart).PullFailed(Reason::kDiskFull, minutes(1)),
                    minutes(2), Stale(Reason::kDiskFull, Pulls::kYes)},
        RefreshCase{"DiskFullAlways",
                    RegistryStory(Always())
                        .Same("a", kStart)
                        .Moved("b", hours(1))
                        .PullFailed(Reason::kDiskFull, minutes(61)),
                    minutes(62), NotReady(Reason::kDiskFull, Pulls::kYes)},
        RefreshCase{
            "ARefusedSignatureIsNoDirectivesMatter",
            RegistryStory(Keeps()).Moved("b", kStart).PullFailed(Reason::kSignatureRejected, minutes(1)),
            minutes(2), NotReady(Reason::kSignatureRejected, Pulls::kYes)},
        RefreshCase{"StalledKeepsTheOldOne",
                    RegistryStory(Fails()).Moved("b", kStart).PullFailed(Reason::kStalled, minutes(1)),
                    minutes(2), Stale(Reason::kStalled, Pulls::kYes)},
        RefreshCase{
            "UnusableKeepsTheOldOne",
            RegistryStory(Fails()).Moved("b", kStart).PullFailed(Reason::kPlatformMismatch, minutes(1)),
            minutes(2), Stale(Reason::kPlatformMismatch, Pulls::kYes)},
        RefreshCase{"MovedBackEndsAFailedUpdate",
                    RegistryStory(Keeps())
                        .Moved("b", kStart)
                        .PullFailed(Reason::kSignatureRejected, minutes(1))
                        .Same("a", hours(1)),
                    hours(1), Ready(Reason::kUpToDate)},
        RefreshCase{"MovedOnEndsAFailedUpdate",
                    RegistryStory(Keeps())
                        .Moved("b", kStart)
                        .PullFailed(Reason::kSignatureRejected, minutes(1))
                        .Moved("c", hours(1)),
                    hours(1), Stale(Reason::kTagMoved, Pulls::kYes)}),
    NameOf);

// 9.5, 9.2, and design.md section 6.
INSTANTIATE_TEST_SUITE_P(
    Details, RefreshTest,
    testing::Values(
        RefreshCase{"OneSilentCheckIsNone", RegistryStory(Fails()).Same("a", kStart).Unreachable(hours(1)),
                    minutes(62), Stale(Reason::kUnreachable)},
        RefreshCase{"TwoSilentChecksWithinAMinuteAreNone",
                    RegistryStory(Fails())
                        .Same("a", kStart)
                        .Unreachable(hours(1))
                        .Unreachable(hours(1) + seconds(30)),
                    hours(1) + seconds(59), Stale(Reason::kUnreachable)},
        RefreshCase{"TheMinuteIsOver",
                    RegistryStory(Fails())
                        .Same("a", kStart)
                        .Unreachable(hours(1))
                        .Unreachable(hours(1) + seconds(30)),
                    minutes(61), NotReady(Reason::kUnreachable)},
        RefreshCase{"ReadyAtOnceWhenItAnswers", SilentTwice(Fails()).Same("a", minutes(70)), minutes(70),
                    Ready(Reason::kUpToDate)},
        RefreshCase{"UnpluggingTheCableDoesNotUndoADenial",
                    RegistryStory(Fails()).Same("a", kStart).Denied(hours(1)).Unreachable(minutes(66)),
                    minutes(66), NotReady(Reason::kAccessDenied)},
        RefreshCase{"UnpluggingTheCableDoesNotBringATagBack",
                    RegistryStory(Fails()).Missing(kStart).Missing(minutes(1)).Unreachable(hours(1)),
                    hours(1), NotReady(Reason::kTagMissing)},
        RefreshCase{"ATagThatReturnsIsReady",
                    RegistryStory(Fails()).Missing(kStart).Missing(minutes(1)).Same("a", hours(1)), hours(1),
                    Ready(Reason::kUpToDate)},
        RefreshCase{"ATagThatReturnsOnceIsNotMissingTwice",
                    RegistryStory(Fails()).Missing(kStart).Same("a", minutes(30)).Missing(hours(1)), hours(1),
                    Stale(Reason::kTagMissingUnconfirmed)},
        RefreshCase{"SilenceBetweenDoesNotMakeATagLessMissing",
                    RegistryStory(Fails()).Missing(kStart).Unreachable(minutes(1)).Missing(minutes(3)),
                    minutes(3), NotReady(Reason::kTagMissing)},
        RefreshCase{"NothingIsPulledForATagThatIsGone",
                    RegistryStory(Keeps()).Moved("b", kStart).Missing(hours(1)).Missing(minutes(61)),
                    hours(2), Stale(Reason::kTagMissing)},
        RefreshCase{"NothingIsPulledWhereAccessIsDenied",
                    RegistryStory(Keeps()).Moved("b", kStart).Denied(hours(1)), hours(2),
                    Stale(Reason::kAccessDenied)},
        RefreshCase{"SomebodyElsePulledIt",
                    RegistryStory(Keeps()).Moved("b", kStart).Replaced("b", minutes(1)), minutes(1),
                    Ready(Reason::kUpToDate)},
        RefreshCase{"SomebodyElseTaggedOver",
                    RegistryStory(Keeps()).Same("a", kStart).Replaced("x", minutes(1)), minutes(1),
                    Stale(Reason::kNotChecked)},
        RefreshCase{"WhatSomebodyElseTaggedIsAskedFor",
                    RegistryStory(Keeps()).Same("a", kStart).Replaced("x", minutes(1)).Moved("a", minutes(1)),
                    minutes(1), Stale(Reason::kTagMoved, Pulls::kYes)},
        RefreshCase{"SomebodyElseTaggedOverAlways",
                    RegistryStory(Always()).Same("a", kStart).Replaced("x", minutes(1)), minutes(2),
                    NotReady(Reason::kCheckOverdue)},
        RefreshCase{"AfterAStartFreshnessIsUnknown", RegistryStory(Fails()), minutes(59),
                    Stale(Reason::kNotChecked)},
        RefreshCase{"FreshnessEndsAfterTwoIntervals", RegistryStory(Keeps()).Same("a", kStart), hours(2),
                    Stale(Reason::kCheckOverdue)},
        RefreshCase{"NewCredentialsEndFreshness",
                    RegistryStory(Fails()).Same("a", kStart).NewCredentials(minutes(1)), minutes(1),
                    Stale(Reason::kNotChecked)},
        RefreshCase{"NewCredentialsHaveAMinuteAlways",
                    RegistryStory(Always()).Same("a", kStart).NewCredentials(minutes(1)),
                    minutes(1) + seconds(59), Stale(Reason::kNotChecked)},
        RefreshCase{"NewCredentialsMustBeConfirmedAlways",
                    RegistryStory(Always()).Same("a", kStart).NewCredentials(minutes(1)), minutes(2),
                    NotReady(Reason::kCheckOverdue)},
        RefreshCase{"NewCredentialsAreConfirmed",
                    RegistryStory(Always())
                        .Same("a", kStart)
                        .NewCredentials(minutes(1))
                        .Same("a", minutes(1) + seconds(5)),
                    minutes(3), Ready(Reason::kUpToDate)},
        RefreshCase{"OlderThanMaxAgeKept",
                    RegistryStory(WithMaxAge(Keeps(), hours(24)))
                        .Same("a", kStart)
                        .Unreachable(hours(1))
                        .Unreachable(hours(2)),
                    hours(24), Stale(Reason::kUnreachable)},
        RefreshCase{"OlderThanMaxAge", RegistryStory(WithMaxAge(Fails(), hours(24))).Same("a", kStart),
                    hours(24), NotReady(Reason::kStale)},
        RefreshCase{"YoungerThanMaxAge", RegistryStory(WithMaxAge(Fails(), hours(24))).Same("a", kStart),
                    hours(23), Ready(Reason::kUpToDate)},
        RefreshCase{"ARestartCountsMaxAgeFromThere", RegistryStory(WithMaxAge(Fails(), hours(24))), hours(23),
                    Stale(Reason::kNotChecked)},
        RefreshCase{"ARestartDoesNotCountForEver", RegistryStory(WithMaxAge(Fails(), hours(24))), hours(24),
                    NotReady(Reason::kStale)},
        RefreshCase{"ADenialClearsTheAge",
                    RegistryStory([] {
                      DesiredImage want = WithMaxAge(Keeps(), hours(24));
                      want.on_stale = OnFailure::kNotReady;
                      return want;
                    }())
                        .Same("a", kStart)
                        .Denied(hours(1)),
                    hours(1), NotReady(Reason::kStale)},
        RefreshCase{"OnlyByPullIsPulledEachInterval", RegistryStory(Keeps()).OnlyByPull(hours(1)), hours(1),
                    Stale(Reason::kNotChecked, Pulls::kYes)},
        RefreshCase{"OnlyByPullWasTheSame", RegistryStory(Keeps()).OnlyByPull(hours(1)).Pulled("a", hours(1)),
                    minutes(61), Ready(Reason::kUpToDate)},
        RefreshCase{"OnlyByPullChanged", RegistryStory(Keeps()).OnlyByPull(hours(1)).Pulled("b", hours(1)),
                    minutes(61), Ready(Reason::kUpToDate)},
        RefreshCase{"OnlyByPullFailed",
                    RegistryStory(Fails())
                        .OnlyByPull(hours(1))
                        .PullFailed(Reason::kUnreachable, hours(1))
                        .OnlyByPull(minutes(62))
                        .PullFailed(Reason::kUnreachable, minutes(63)),
                    minutes(63), NotReady(Reason::kUnreachable)},
        RefreshCase{"NotAskedSinceItsRegistryIsHeldIsSilence",
                    RegistryStory(Fails()).Same("a", kStart).NotAsked(hours(1)).NotAsked(minutes(62)),
                    minutes(62), NotReady(Reason::kUnreachable)}),
    NameOf);

struct AlwaysCase {
  std::string name;
  RegistryStory story;
  base::Duration now;
  Reason why;  // kUpToDate: a pod with Always would pass
};

class ForAlwaysTest : public testing::TestWithParam<AlwaysCase> {};

TEST_P(ForAlwaysTest, Row) {
  const AlwaysCase& row = GetParam();
  RefreshDecision decision = row.story.Decided(row.now);
  EXPECT_EQ(ReasonName(decision.always_reason), ReasonName(row.why));
  EXPECT_EQ(decision.agrees, row.why == Reason::kUpToDate);
}

// design.md section 6: present, and the registry answered Same within 2 x refreshInterval.
INSTANTIATE_TEST_SUITE_P(
    ReadyFor, ForAlwaysTest,
    testing::Values(
        AlwaysCase{"NotAskedYet", RegistryStory(ForAlways(Keeps())), minutes(1), Reason::kNotChecked},
        AlwaysCase{"Same", RegistryStory(ForAlways(Keeps())).Same("a", kStart), minutes(119),
                   Reason::kUpToDate},
        AlwaysCase{"TooLongAgo", RegistryStory(ForAlways(Keeps())).Same("a", kStart), hours(2),
                   Reason::kCheckOverdue},
        AlwaysCase{"AShortOutageIsNone", SilentTwice(ForAlways(Keeps())), minutes(119), Reason::kUpToDate},
        AlwaysCase{"ALongOneIs", SilentTwice(ForAlways(Keeps())), hours(2), Reason::kUnreachable},
        AlwaysCase{"Denied", RegistryStory(ForAlways(Keeps())).Same("a", kStart).Denied(minutes(1)),
                   minutes(1), Reason::kAccessDenied},
        AlwaysCase{"MissingOnce", RegistryStory(ForAlways(Keeps())).Same("a", kStart).Missing(minutes(1)),
                   minutes(1), Reason::kUpToDate},
        AlwaysCase{
            "Missing",
            RegistryStory(ForAlways(Keeps())).Same("a", kStart).Missing(minutes(1)).Missing(minutes(2)),
            minutes(2), Reason::kTagMissing},
        AlwaysCase{"Moved", RegistryStory(ForAlways(Keeps())).Same("a", kStart).Moved("b", minutes(1)),
                   minutes(1), Reason::kTagMoved},
        AlwaysCase{"MovedAndPulled",
                   RegistryStory(ForAlways(Keeps())).Moved("b", kStart).Pulled("b", minutes(1)), minutes(2),
                   Reason::kUpToDate},
        AlwaysCase{"IfNotPresentIsAskedToo", RegistryStory(ForAlways(IfNotPresent())).Same("a", kStart),
                   minutes(1), Reason::kUpToDate},
        AlwaysCase{"R33ADigestIsAskedForAccess",
                   RegistryStory(ForAlways(Want(Refresh::kIfNotPresent, kByDigest))).Same("a", kStart),
                   minutes(1), Reason::kUpToDate},
        AlwaysCase{"Unclear", RegistryStory(ForAlways(IfNotPresent())).Unclear(kStart), minutes(1),
                   Reason::kIndeterminate}),
    [](const auto& row) { return row.param.name; });

TEST(ForAlways, IfNotPresentIsNeverPulledAgain) {
  RegistryStory story(ForAlways(IfNotPresent()));
  EXPECT_FALSE(story.Moved("b", kStart).Decided(minutes(1)).pull);
  EXPECT_FALSE(story.Unclear(minutes(2)).Decided(minutes(3)).pull);
}

struct NextCase {
  std::string name;
  RegistryStory story;
  base::Duration least, most;
};

class NextCheckTest : public testing::TestWithParam<NextCase> {};

TEST_P(NextCheckTest, Row) {
  const NextCase& row = GetParam();
  EXPECT_GE(row.story.NextCheck(), row.least);
  EXPECT_LE(row.story.NextCheck(), row.most);
}

// Random is 0.5 in a story: the middle of each jitter.
INSTANTIATE_TEST_SUITE_P(
    Times, NextCheckTest,
    testing::Values(
        NextCase{"FirstWithinTheInterval", RegistryStory(Keeps()), minutes(30), minutes(30)},
        NextCase{"FirstSoonWhereReadinessWaits", RegistryStory(Always()), seconds(5), seconds(5)},
        NextCase{"AfterAnAnswer", RegistryStory(Keeps()).Same("a", kStart), minutes(60), minutes(60)},
        NextCase{"MissingIsConfirmedSoon", RegistryStory(Keeps()).Missing(kStart), seconds(60), seconds(75)},
        NextCase{"MissingForSureCanWait", RegistryStory(Keeps()).Missing(kStart).Missing(minutes(2)),
                 minutes(62), minutes(62)},
        NextCase{"DeniedIsNotHammered", RegistryStory(Keeps()).Denied(kStart), minutes(5), minutes(6)},
        NextCase{"DeniedAgain", RegistryStory(Keeps()).Denied(kStart).Denied(minutes(5)), minutes(15),
                 minutes(17)},
        NextCase{"SilentIsAskedAgainSoon", RegistryStory(Keeps()).Unreachable(kStart), seconds(60),
                 seconds(75)},
        NextCase{"SilentAgain", RegistryStory(Keeps()).Unreachable(kStart).Unreachable(seconds(70)),
                 seconds(190), seconds(220)},
        NextCase{"RetryAfterCounts",
                 RegistryStory(Keeps()).Said({.kind = image::RegistryAnswerKind::kRateLimited,
                                              .retry_after = std::chrono::minutes(20)},
                                             kStart),
                 minutes(20), minutes(20)},
        NextCase{"NotAskedCanWait", RegistryStory(Keeps()).NotAsked(kStart), minutes(60), minutes(60)},
        NextCase{"NotAskedAndUrgent", RegistryStory(Fails()).NotAsked(kStart), seconds(60), seconds(75)},
        NextCase{"NewCredentialsAreTriedNow",
                 RegistryStory(Keeps()).Same("a", kStart).NewCredentials(minutes(1)), minutes(1), minutes(1)},
        NextCase{"APullIsACheck", RegistryStory(Keeps()).Moved("b", kStart).Pulled("b", minutes(5)),
                 minutes(65), minutes(65)},
        NextCase{"AfterALagTheRegistryIsAskedOnceMore",
                 RegistryStory(Keeps()).Moved("b", kStart).Pulled("a", minutes(5)), minutes(6), minutes(7)}),
    [](const auto& row) { return row.param.name; });

TEST(NextCheck, JitterIsATenthToEitherSide) {
  DesiredImage want = Keeps();
  Local local{.digest = "a"};
  image::RegistryAnswer same{.kind = image::RegistryAnswerKind::kSame, .digest = "a"};
  base::TimePoint now{hours(5)};
  EXPECT_EQ(AfterAnswer({}, want, local, same, {now, {}}, 0).next_check, now + minutes(54));
  EXPECT_LE(AfterAnswer({}, want, local, same, {now, {}}, 0.999).next_check, now + minutes(66));
}

TEST(NextCheck, ADemandThatChangesIsMetWithinItsInterval) {
  RegistryStory story(Keeps());
  story.Same("a", kStart);
  DesiredImage sooner = Keeps();
  sooner.refresh_interval = minutes(10);
  base::TimePoint now = story.past.answered_at + minutes(1);
  EXPECT_EQ(AfterNewDemand(story.past, sooner, now, 0.5).next_check, now + minutes(5));
  EXPECT_EQ(AfterNewDemand(story.past, sooner, now, 0.5).confirmed_at, story.past.confirmed_at);
}

TEST(Lag, BacksOffUpToSixHours) {
  RegistryStory story(Keeps());
  story.Moved("b", kStart);
  base::Duration at{};
  base::Duration longest{};
  for (int i = 0; i < 10; i++) {
    story.Pulled("a", at);
    base::Duration wait = story.past.lag_until - story.past.next_check;
    EXPECT_GE(wait, longest);
    longest = wait;
    at += hours(10);
  }
  EXPECT_LE(longest, hours(8));
  EXPECT_GE(longest, hours(6));
}

TEST(NextRefreshChange, IsWhenTimeAloneChangesTheDecision) {
  RegistryStory story(WithMaxAge(Fails(), hours(24)));
  story.Same("a", kStart);
  base::TimePoint start = story.past.answered_at;
  EXPECT_EQ(NextRefreshChange(Fails(), story.past, start), start + hours(2));
  story.Unreachable(hours(1)).Unreachable(hours(1) + seconds(30));
  EXPECT_EQ(NextRefreshChange(Fails(), story.past, start + hours(1) + seconds(30)), start + minutes(61));
  // Never answered: its age counts from the start.
  RegistryStory silent(WithMaxAge(Fails(), hours(24)));
  EXPECT_EQ(NextRefreshChange(WithMaxAge(Fails(), hours(24)), silent.past, start), start + hours(24));
}

TEST(Digests, OfTheSameRepositoryAllCount) {
  Local local{.digest = "a", .other_digests = {"b"}};
  EXPECT_TRUE(HasDigest(local, "a"));
  EXPECT_TRUE(HasDigest(local, "b"));
  EXPECT_FALSE(HasDigest(local, "c"));
  EXPECT_FALSE(HasDigest(local, ""));
}

TEST(Words, NothingIsEverCalledNewer) {
  for (int i = 0; i <= static_cast<int>(Reason::kImagesNotReady); i++) {
    EXPECT_EQ(ReasonName(static_cast<Reason>(i)).find("ewer"), std::string_view::npos);
  }
}

}  // namespace
}  // namespace prefetch::plan
