// Registry rules R44 and R45, row by row.
#include "plan/freshness.h"

#include <gtest/gtest.h>

#include "plan/refresh_rows.h"
#include "rows.h"

namespace prefetch::plan::refresh_test {

TEST_P(RefreshTest, Row) {
  const RefreshCase& row = GetParam();
  RefreshDecision decision = row.story.Decided(row.now);
  Said said{decision.ready, decision.fresh, decision.pull ? Pulls::kYes : Pulls::kNegative, decision.reason};
  EXPECT_EQ(said, row.expect);
}

namespace {

// An image that is absent, or for another platform, is Decide's. The numbers in the names tell rows apart;
// they are no ids of rules.
TEST_ROWS(Table, RefreshTest,
          {"R4IfNotPresentIsNeverAsked",
           RegistryStory(IfNotPresent()),
           hours(100),
           {true, false, Pulls::kNegative, Reason::kPresent}},
          {"R5ADigestIsNeverAsked",
           RegistryStory(Want(Refresh::kIfDigestChanged, kByDigest)),
           hours(100),
           {true, false, Pulls::kNegative, Reason::kPinnedByDigest}},
          {"R6WithinMaxAgeSilenceIsNoNews",
           RegistryStory(WithMaxAge(Keeps(), hours(24))).Same("a", kStart).Unreachable(hours(1)), hours(2),
           Ready(Reason::kUpToDate)},
          {"R7Same", RegistryStory(Keeps()).Same("a", kStart), minutes(1), Ready(Reason::kUpToDate)},
          {"R8MovedIsPulledAndTheOldOneServes", RegistryStory(Keeps()).Moved("b", kStart), minutes(1),
           Stale(Reason::kTagMoved, Pulls::kYes)},
          {"R10LocalDigestUnknown", RegistryStory(Keeps()).Here("").Moved("b", kStart), minutes(1),
           Stale(Reason::kLocalDigestUnknown, Pulls::kYes)},
          {"R11MirrorLagHoldsTheNextPull",
           RegistryStory(Keeps()).Moved("b", kStart).Pulled("a", minutes(1)).Moved("b", minutes(3)),
           minutes(10), Stale(Reason::kMirrorLag)},
          {"R11MirrorLagIsTriedAgainAfterItsTime",
           RegistryStory(Keeps()).Moved("b", kStart).Pulled("a", minutes(1)).Moved("b", minutes(3)),
           minutes(14), Stale(Reason::kMirrorLag, Pulls::kYes)},
          {"R11AnotherDigestEndsTheLag",
           RegistryStory(Keeps()).Moved("b", kStart).Pulled("a", minutes(1)).Moved("c", minutes(3)),
           minutes(4), Stale(Reason::kTagMoved, Pulls::kYes)},
          {"R12MissingOnceChangesNothing", RegistryStory(Fails()).Same("a", kStart).Missing(hours(1)),
           minutes(61), Stale(Reason::kTagMissingUnconfirmed)},
          {"R12MissingTwiceWithinAMinuteIsOnce",
           RegistryStory(Fails()).Same("a", kStart).Missing(hours(1)).Missing(hours(1) + seconds(59)),
           minutes(62), Stale(Reason::kTagMissingUnconfirmed)},
          {"R13MissingKept", RegistryStory(Keeps()).Same("a", kStart).Missing(hours(1)).Missing(minutes(61)),
           minutes(62), Stale(Reason::kTagMissing)},
          {"R14Missing", RegistryStory(Fails()).Same("a", kStart).Missing(hours(1)).Missing(minutes(61)),
           minutes(62), NotReady(Reason::kTagMissing)},
          {"R15DeniedKept", RegistryStory(Keeps()).Same("a", kStart).Denied(hours(1)), minutes(61),
           Stale(Reason::kAccessDenied)},
          {"R16DeniedAtOnce", RegistryStory(Fails()).Same("a", kStart).Denied(hours(1)), hours(1),
           NotReady(Reason::kAccessDenied)},
          {"R16DeniedIsNotReadyByDefault",
           RegistryStory(Want(Refresh::kIfDigestChanged)).Same("a", kStart).Denied(hours(1)), hours(1),
           NotReady(Reason::kAccessDenied)},
          {"R17UnreachableKept", SilentTwice(Keeps()), hours(7), Stale(Reason::kUnreachable)},
          {"R18Unreachable", SilentTwice(Fails()), hours(7), NotReady(Reason::kUnreachable)},
          {"R19LimitedKept", RegistryStory(Keeps()).Same("a", kStart).Limited(hours(1)).Limited(minutes(62)),
           minutes(63), Stale(Reason::kRateLimited)},
          {"R20Limited", RegistryStory(Fails()).Same("a", kStart).Limited(hours(1)).Limited(minutes(62)),
           minutes(63), NotReady(Reason::kRateLimited)},
          {"R21ServerErrorKept",
           RegistryStory(Keeps()).Same("a", kStart).ServerError(hours(1)).ServerError(minutes(62)),
           minutes(63), Stale(Reason::kServerError)},
          {"R22ServerError",
           RegistryStory(Fails()).Same("a", kStart).ServerError(hours(1)).ServerError(minutes(62)),
           minutes(63), NotReady(Reason::kServerError)},
          {"R23UnclearKeptAndPulledOnce", RegistryStory(Keeps()).Same("a", kStart).Unclear(hours(1)),
           minutes(61), Stale(Reason::kIndeterminate, Pulls::kYes)},
          {"R23UnclearIsNotPulledTwiceADay",
           RegistryStory(Keeps()).Unclear(hours(1)).Pulled("a", hours(1)).Unclear(hours(2)), hours(2),
           Stale(Reason::kIndeterminate)},
          {"R23UnclearIsPulledTheNextDay",
           RegistryStory(Keeps()).Unclear(hours(1)).Pulled("a", hours(1)).Unclear(hours(25)), hours(25),
           Stale(Reason::kIndeterminate, Pulls::kYes)},
          {"R24Unclear", RegistryStory(Fails()).Same("a", kStart).Unclear(hours(1)), hours(1),
           NotReady(Reason::kIndeterminate, Pulls::kYes)},
          {"R25AlwaysSame", RegistryStory(Always()).Same("a", kStart), minutes(1), Ready(Reason::kUpToDate)},
          {"R26AlwaysMoved", RegistryStory(Always()).Same("a", kStart).Moved("b", hours(1)), hours(1),
           NotReady(Reason::kTagMoved, Pulls::kYes)},
          {"R27AlwaysMissing",
           RegistryStory(Always()).Same("a", kStart).Missing(hours(1)).Missing(minutes(61)), minutes(61),
           NotReady(Reason::kTagMissing)},
          {"DeniedNoMore", RegistryStory(Fails()).Same("a", kStart).Denied(hours(1)).Same("a", minutes(66)),
           minutes(67), Ready(Reason::kUpToDate)},
          {"MissedByAPullAfterOneThatFailed",
           RegistryStory(Keeps())
               .Moved("b", kStart)
               .PullFailed(Reason::kUnpackFailed, minutes(1))
               .Pulled("a", minutes(3)),
           minutes(4), Stale(Reason::kMirrorLag)},
          {"R28AlwaysDenied", RegistryStory(Always()).Same("a", kStart).Denied(hours(1)), hours(1),
           NotReady(Reason::kAccessDenied)},
          {"R29AlwaysUnreachable", SilentTwice(Always()), minutes(63), NotReady(Reason::kUnreachable)},
          {"R30AlwaysLimited",
           RegistryStory(Always()).Same("a", kStart).Limited(hours(1)).Limited(minutes(62)), minutes(63),
           NotReady(Reason::kRateLimited)},
          {"R31AlwaysServerError",
           RegistryStory(Always()).Same("a", kStart).ServerError(hours(1)).ServerError(minutes(62)),
           minutes(63), NotReady(Reason::kServerError)},
          {"R32AlwaysUnclear", RegistryStory(Always()).Same("a", kStart).Unclear(hours(1)), hours(1),
           NotReady(Reason::kIndeterminate, Pulls::kYes)},
          {"R34AlwaysNotAskedYet", RegistryStory(Always()), minutes(1), NotReady(Reason::kNotChecked)},
          {"R34AlwaysBetweenCycles", RegistryStory(Always()).Same("a", kStart), minutes(119),
           Ready(Reason::kUpToDate)},
          {"R34AlwaysOverdue", RegistryStory(Always()).Same("a", kStart), hours(2),
           NotReady(Reason::kCheckOverdue)});

// 9.4. "Absent" rows are Decide's; a pull that brought another platform has replaced what was here.
TEST_ROWS(
    AfterAPull, RefreshTest,
    {"Updated", RegistryStory(Keeps()).Moved("b", kStart).Pulled("b", minutes(1)), minutes(2),
     Ready(Reason::kUpToDate)},
    {"UpdatedAlways", RegistryStory(Always()).Moved("b", kStart).Pulled("b", minutes(1)), minutes(2),
     Ready(Reason::kUpToDate)},
    {"LacksWhatTheRegistryNames", RegistryStory(Keeps()).Moved("b", kStart).Pulled("a", minutes(1)),
     minutes(2), Stale(Reason::kMirrorLag)},
    {"LacksItAlways", RegistryStory(Always()).Same("a", kStart).Moved("b", hours(1)).Pulled("c", minutes(61)),
     minutes(62), Stale(Reason::kMirrorLag)},
    {"DeniedKept", RegistryStory(Keeps()).Moved("b", kStart).PullFailed(Reason::kAccessDenied, minutes(1)),
     minutes(2), Stale(Reason::kAccessDenied)},
    {"Denied", RegistryStory(Fails()).Moved("b", kStart).PullFailed(Reason::kAccessDenied, minutes(1)),
     minutes(2), NotReady(Reason::kAccessDenied)},
    {"DeniedWithoutTheCredentialOfAPlugin",
     RegistryStory(Fails())
         .Moved("b", kStart)
         .PullFailed({.reason = Reason::kAccessDenied, .error = "x", .lacks_credential = true}, minutes(1)),
     minutes(1), Stale(Reason::kUnreachable, Pulls::kYes)},
    {"NotFoundOnceIsAskedAgain",
     RegistryStory(Fails()).Moved("b", kStart).PullFailed(Reason::kNotFound, minutes(1)), minutes(2),
     Stale(Reason::kTagMissingUnconfirmed)},
    {"NotFoundThenMissing",
     RegistryStory(Fails()).Moved("b", kStart).PullFailed(Reason::kNotFound, minutes(1)).Missing(minutes(3)),
     minutes(3), NotReady(Reason::kTagMissing)},
    {"UnreachableOnce", RegistryStory(Fails()).Moved("b", kStart).PullFailed(Reason::kDnsFailure, minutes(1)),
     minutes(1), Stale(Reason::kUnreachable, Pulls::kYes)},
    {"UnreachableTwice",
     RegistryStory(Fails())
         .Moved("b", kStart)
         .PullFailed(Reason::kUnreachable, minutes(1))
         .PullFailed(Reason::kTlsError, minutes(2)),
     minutes(2), NotReady(Reason::kUnreachable, Pulls::kYes)},
    {"LimitedKept", RegistryStory(Keeps()).Moved("b", kStart).PullFailed(Reason::kRateLimited, minutes(1)),
     minutes(2), Stale(Reason::kRateLimited, Pulls::kYes)},
    {"DiskFullNeedsNoDirective",
     RegistryStory(Fails()).Moved("b", kStart).PullFailed(Reason::kDiskFull, minutes(1)), minutes(2),
     Stale(Reason::kDiskFull, Pulls::kYes)},
    {"DiskFullAlways",
     RegistryStory(Always())
         .Same("a", kStart)
         .Moved("b", hours(1))
         .PullFailed(Reason::kDiskFull, minutes(61)),
     minutes(62), NotReady(Reason::kDiskFull, Pulls::kYes)},
    {"ARefusedSignatureIsNoDirectivesMatter",
     RegistryStory(Keeps()).Moved("b", kStart).PullFailed(Reason::kSignatureRejected, minutes(1)), minutes(2),
     NotReady(Reason::kSignatureRejected, Pulls::kYes)},
    {"StalledKeepsTheOldOne",
     RegistryStory(Fails()).Moved("b", kStart).PullFailed(Reason::kStalled, minutes(1)), minutes(2),
     Stale(Reason::kStalled, Pulls::kYes)},
    {"UnusableKeepsTheOldOne",
     RegistryStory(Fails()).Moved("b", kStart).PullFailed(Reason::kPlatformMismatch, minutes(1)), minutes(2),
     Stale(Reason::kPlatformMismatch, Pulls::kYes)},
    {"MovedBackEndsAFailedUpdate",
     RegistryStory(Keeps())
         .Moved("b", kStart)
         .PullFailed(Reason::kSignatureRejected, minutes(1))
         .Same("a", hours(1)),
     hours(1), Ready(Reason::kUpToDate)},
    {"MovedOnEndsAFailedUpdate",
     RegistryStory(Keeps())
         .Moved("b", kStart)
         .PullFailed(Reason::kSignatureRejected, minutes(1))
         .Moved("c", hours(1)),
     hours(1), Stale(Reason::kTagMoved, Pulls::kYes)});

}  // namespace
}  // namespace prefetch::plan::refresh_test
