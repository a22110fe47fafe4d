// Registry rules R44 and R45, row by row.
#include "plan/freshness.h"

#include <gtest/gtest.h>

#include "plan/refresh_rows.h"
#include "rows.h"

namespace prefetch::plan::refresh_test {

using enum Reason;

TEST_P(RefreshTest, Row) {
  const RefreshCase& row = GetParam();
  RefreshDecision decision = row.story.Decided(row.now);
  Said said{decision.ready, decision.fresh, decision.pull, decision.reason};
  EXPECT_EQ(said, row.expect);
}

namespace {

// An image that is absent, or for another platform, is Decide's. The numbers in the names tell rows apart;
// they are no ids of rules.
TEST_ROWS(
    Table, RefreshTest, {"R4IfNotPresentIsNeverAsked", IfNotPresent(), 100h, {true, false, false, kPresent}},
    {"R5ADigestIsNeverAsked",
     Want(Refresh::kIfDigestChanged, kByDigest),
     100h,
     {true, false, false, kPinnedByDigest}},
    {"R6WithinMaxAgeSilenceIsNoNews", WithMaxAge(Keeps(), 24h).Same().Unreachable(1h), 2h, Ready(kUpToDate)},
    {"R7Same", Keeps().Same(), 1min, Ready(kUpToDate)},
    {"R8MovedIsPulledAndTheOldOneServes", Keeps().Moved(), 1min, Stale(kTagMoved, kPulls)},
    {"R10LocalDigestUnknown", Keeps().Here("").Moved(), 1min, Stale(kLocalDigestUnknown, kPulls)},
    {"R11MirrorLagHoldsTheNextPull", Keeps().Moved().Pulled("a", 1min).Moved("b", 3min), 10min,
     Stale(kMirrorLag)},
    {"R11MirrorLagIsTriedAgainAfterItsTime", Keeps().Moved().Pulled("a", 1min).Moved("b", 3min), 14min,
     Stale(kMirrorLag, kPulls)},
    {"R11AnotherDigestEndsTheLag", Keeps().Moved().Pulled("a", 1min).Moved("c", 3min), 4min,
     Stale(kTagMoved, kPulls)},
    {"R12MissingOnceChangesNothing", Fails().Same().Missing(1h), 61min, Stale(kTagMissingUnconfirmed)},
    {"R12MissingTwiceWithinAMinuteIsOnce", Fails().Same().Missing(1h).Missing(1h + 59s), 62min,
     Stale(kTagMissingUnconfirmed)},
    {"R13MissingKept", Keeps().Same().Missing(1h).Missing(61min), 62min, Stale(kTagMissing)},
    {"R14Missing", Fails().Same().Missing(1h).Missing(61min), 62min, NotReady(kTagMissing)},
    {"R15DeniedKept", Keeps().Same().Denied(1h), 61min, Stale(kAccessDenied)},
    {"R16DeniedAtOnce", Fails().Same().Denied(1h), 1h, NotReady(kAccessDenied)},
    {"R16DeniedIsNotReadyByDefault", Want(Refresh::kIfDigestChanged).Same().Denied(1h), 1h,
     NotReady(kAccessDenied)},
    {"R17UnreachableKept", SilentTwice(Keeps()), 7h, Stale(kUnreachable)},
    {"R18Unreachable", SilentTwice(Fails()), 7h, NotReady(kUnreachable)},
    {"R19LimitedKept", Keeps().Same().Limited(1h).Limited(62min), 63min, Stale(kRateLimited)},
    {"R20Limited", Fails().Same().Limited(1h).Limited(62min), 63min, NotReady(kRateLimited)},
    {"R21ServerErrorKept", Keeps().Same().ServerError(1h).ServerError(62min), 63min, Stale(kServerError)},
    {"R22ServerError", Fails().Same().ServerError(1h).ServerError(62min), 63min, NotReady(kServerError)},
    {"R23UnclearKeptAndPulledOnce", Keeps().Same().Unclear(1h), 61min, Stale(kIndeterminate, kPulls)},
    {"R23UnclearIsNotPulledTwiceADay", Keeps().Unclear(1h).Pulled("a", 1h).Unclear(2h), 2h,
     Stale(kIndeterminate)},
    {"R23UnclearIsPulledTheNextDay", Keeps().Unclear(1h).Pulled("a", 1h).Unclear(25h), 25h,
     Stale(kIndeterminate, kPulls)},
    {"R24Unclear", Fails().Same().Unclear(1h), 1h, NotReady(kIndeterminate, kPulls)},
    {"R25AlwaysSame", Always().Same(), 1min, Ready(kUpToDate)},
    {"R26AlwaysMoved", Always().Same().Moved("b", 1h), 1h, NotReady(kTagMoved, kPulls)},
    {"R27AlwaysMissing", Always().Same().Missing(1h).Missing(61min), 61min, NotReady(kTagMissing)},
    {"DeniedNoMore", Fails().Same().Denied(1h).Same("a", 66min), 67min, Ready(kUpToDate)},
    {"MissedByAPullAfterOneThatFailed", Keeps().Moved().PullFailed(kUnpackFailed, 1min).Pulled("a", 3min),
     4min, Stale(kMirrorLag)},
    {"R28AlwaysDenied", Always().Same().Denied(1h), 1h, NotReady(kAccessDenied)},
    {"R29AlwaysUnreachable", SilentTwice(Always()), 63min, NotReady(kUnreachable)},
    {"R30AlwaysLimited", Always().Same().Limited(1h).Limited(62min), 63min, NotReady(kRateLimited)},
    {"R31AlwaysServerError", Always().Same().ServerError(1h).ServerError(62min), 63min,
     NotReady(kServerError)},
    {"R32AlwaysUnclear", Always().Same().Unclear(1h), 1h, NotReady(kIndeterminate, kPulls)},
    {"R34AlwaysNotAskedYet", Always(), 1min, NotReady(kNotChecked)},
    {"R34AlwaysBetweenCycles", Always().Same(), 119min, Ready(kUpToDate)},
    {"R34AlwaysOverdue", Always().Same(), 2h, NotReady(kCheckOverdue)});

// 9.4. "Absent" rows are Decide's; a pull that brought another platform has replaced what was here.
TEST_ROWS(
    AfterAPull, RefreshTest, {"Updated", Keeps().Moved().Pulled("b", 1min), 2min, Ready(kUpToDate)},
    {"UpdatedAlways", Always().Moved().Pulled("b", 1min), 2min, Ready(kUpToDate)},
    {"LacksWhatTheRegistryNames", Keeps().Moved().Pulled("a", 1min), 2min, Stale(kMirrorLag)},
    {"LacksItAlways", Always().Same().Moved("b", 1h).Pulled("c", 61min), 62min, Stale(kMirrorLag)},
    {"DeniedKept", Keeps().Moved().PullFailed(kAccessDenied, 1min), 2min, Stale(kAccessDenied)},
    {"Denied", Fails().Moved().PullFailed(kAccessDenied, 1min), 2min, NotReady(kAccessDenied)},
    {"DeniedWithoutTheCredentialOfAPlugin",
     Fails().Moved().PullFailed({.reason = kAccessDenied, .error = "x", .lacks_credential = true}, 1min),
     1min, Stale(kUnreachable, kPulls)},
    {"NotFoundOnceIsAskedAgain", Fails().Moved().PullFailed(kNotFound, 1min), 2min,
     Stale(kTagMissingUnconfirmed)},
    {"NotFoundThenMissing", Fails().Moved().PullFailed(kNotFound, 1min).Missing(3min), 3min,
     NotReady(kTagMissing)},
    {"UnreachableOnce", Fails().Moved().PullFailed(kDnsFailure, 1min), 1min, Stale(kUnreachable, kPulls)},
    {"UnreachableTwice", Fails().Moved().PullFailed(kUnreachable, 1min).PullFailed(kTlsError, 2min), 2min,
     NotReady(kUnreachable, kPulls)},
    {"LimitedKept", Keeps().Moved().PullFailed(kRateLimited, 1min), 2min, Stale(kRateLimited, kPulls)},
    {"DiskFullNeedsNoDirective", Fails().Moved().PullFailed(kDiskFull, 1min), 2min, Stale(kDiskFull, kPulls)},
    {"DiskFullAlways", Always().Same().Moved("b", 1h).PullFailed(kDiskFull, 61min), 62min,
     NotReady(kDiskFull, kPulls)},
    {"ARefusedSignatureIsNoDirectivesMatter", Keeps().Moved().PullFailed(kSignatureRejected, 1min), 2min,
     NotReady(kSignatureRejected, kPulls)},
    {"StalledKeepsTheOldOne", Fails().Moved().PullFailed(kStalled, 1min), 2min, Stale(kStalled, kPulls)},
    {"UnusableKeepsTheOldOne", Fails().Moved().PullFailed(kPlatformMismatch, 1min), 2min,
     Stale(kPlatformMismatch, kPulls)},
    {"MovedBackEndsAFailedUpdate", Keeps().Moved().PullFailed(kSignatureRejected, 1min).Same("a", 1h), 1h,
     Ready(kUpToDate)},
    {"MovedOnEndsAFailedUpdate", Keeps().Moved().PullFailed(kSignatureRejected, 1min).Moved("c", 1h), 1h,
     Stale(kTagMoved, kPulls)});

}  // namespace
}  // namespace prefetch::plan::refresh_test
