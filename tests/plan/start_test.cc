#include "plan/decide.h"

#include <gtest/gtest.h>

#include <string>

#include "plan/schedule.h"

namespace prefetch::plan::start_test {
namespace {

using std::chrono::seconds;
const base::TimePoint kNow{seconds(1000)};
const base::TimePoint kLater = kNow + seconds(1);

struct StartRow {
  std::string name;
  StartFacts facts;
  StartDecision expect;
};

class JudgeStartTest : public testing::TestWithParam<StartRow> {};

TEST_P(JudgeStartTest, Row) {
  const StartDecision verdict = EvaluateStart(GetParam().facts, kNow);
  EXPECT_EQ(verdict.may_start, GetParam().expect.may_start);
  EXPECT_EQ(verdict.no_disk_space, GetParam().expect.no_disk_space);
  EXPECT_EQ(verdict.hold_reason, GetParam().expect.hold_reason);
}

constexpr StartDecision kMay{.may_start = true};
constexpr StartDecision kMayNot{};

INSTANTIATE_TEST_SUITE_P(
    , JudgeStartTest,
    testing::Values(StartRow{"NothingAgainstIt", {}, kMay},
                    StartRow{"DoesNotFit", {.fits = false}, {.no_disk_space = true}},
                    // Held, and among those that may: Schedule knows when the hold ends.
                    StartRow{"DiskFull",
                             {.disk_held_until = kLater},
                             {.may_start = true, .hold_reason = Reason::kDiskFull}},
                    StartRow{"DiskFullNoMore", {.disk_held_until = kNow}, kMay},
                    StartRow{"RegistryHeld",
                             {.registry_held_until = kLater, .registry_failure = Reason::kRateLimited},
                             {.may_start = true, .hold_reason = Reason::kRateLimited}},
                    StartRow{"RegistryHeldNoMore", {.registry_held_until = kNow}, kMay},
                    StartRow{"OfBothTheRegistryIsTold",
                             {.disk_held_until = kLater,
                              .registry_held_until = kLater,
                              .registry_failure = Reason::kDnsFailure},
                             {.may_start = true, .hold_reason = Reason::kDnsFailure}},
                    StartRow{"WithoutRoomAndHeld",
                             {.fits = false, .disk_held_until = kLater},
                             {.no_disk_space = true, .hold_reason = Reason::kDiskFull}},
                    StartRow{"AnUpdateNobodyWaitsForIsSpared",
                             {.update = true, .ready = true, .quota_is_reserved = true},
                             kMayNot},
                    StartRow{"PullsAreNotSaved", {.update = true, .ready = true}, kMay},
                    StartRow{"AnUpdateForReadiness", {.update = true, .quota_is_reserved = true}, kMay},
                    StartRow{"WhatIsMissingIsNotSpared", {.ready = true, .quota_is_reserved = true}, kMay},
                    StartRow{"AnUpdateThatIsAskedFor",
                             {.requested = true, .update = true, .ready = true, .quota_is_reserved = true},
                             kMay},
                    StartRow{"BeforeTheFirst", {.first_at = kLater}, kMayNot},
                    StartRow{"AtTheFirst", {.first_at = kNow}, kMay},
                    StartRow{"AskedForBeforeTheFirst", {.requested = true, .first_at = kLater}, kMay},
                    StartRow{"TriedBefore", {.tried_before = true, .first_at = kLater}, kMay},
                    StartRow{"ItsLeaseIsLeaving", {.lease_being_deleted = true}, kMayNot}),
    [](const auto& row) { return row.param.name; });

TEST(IsDueSoon, OfWhatWaitsAndIsMissing) {
  const Action soon{ActionKind::kWait, Reason::kUnreachable, kNow + kSoonDue};
  const Action later{ActionKind::kWait, Reason::kUnreachable, kNow + kSoonDue + seconds(1)};
  EXPECT_TRUE(IsDueSoon(soon, false, kNow));
  EXPECT_FALSE(IsDueSoon(soon, true, kNow));
  EXPECT_FALSE(IsDueSoon(later, false, kNow));
  EXPECT_FALSE(IsDueSoon({ActionKind::kPull, Reason::kImageAbsent, kNow}, false, kNow));
}

}  // namespace
}  // namespace prefetch::plan::start_test
