#include "plan/registry_pace.h"

#include <gtest/gtest.h>

#include "rows.h"

namespace prefetch::plan::registry_pace_test {
namespace {

using image::RegistryAnswer;
using image::RegistryAnswerKind;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const base::TimePoint kNow{std::chrono::hours(100)};

RegistryPace Told(RegistryPace pace, RegistryAnswerKind kind, base::TimePoint at,
                  std::optional<milliseconds> retry_after = std::nullopt, double random = 0) {
  RegistryAnswer answer{.kind = kind, .retry_after = retry_after, .requests = 1};
  return AfterCheck(AfterStart(std::move(pace), at), answer, at, {}, random);
}
RegistryPace Silent(int times) {
  RegistryPace pace;
  for (int i = 0; i < times; i++) pace = Told(pace, RegistryAnswerKind::kUnreachable, kNow);
  return pace;
}
std::vector<CheckCandidate> Due(int n, const std::string& registry = "r.io") {
  std::vector<CheckCandidate> slots;
  for (int i = 0; i < n; i++) {
    slots.push_back({.entry = static_cast<std::size_t>(i), .registry = registry, .due = kNow});
  }
  return slots;
}

TEST(Pace, FiveSilencesInARowHold) {
  EXPECT_LE(Silent(4).held_until, kNow);
  EXPECT_EQ(Silent(5).held_until, kNow + seconds(45));  // 60 s, less the jitter
  EXPECT_TRUE(Silent(5).probing);
}

TEST(Pace, IsForgottenOnceItNeedsNoPatience) {
  using std::chrono::hours;
  EXPECT_TRUE(CanDiscard(RegistryPace{}, kNow));
  EXPECT_FALSE(CanDiscard(AfterStart({}, kNow), kNow + hours(2))) << "a request runs";
  const RegistryPace answered = Told({}, RegistryAnswerKind::kSame, kNow);
  EXPECT_FALSE(CanDiscard(answered, kNow)) << "or its budget would be full again";
  EXPECT_TRUE(CanDiscard(answered, kNow + minutes(10)));
  const RegistryPace held = Silent(5);
  EXPECT_FALSE(CanDiscard(held, held.held_until + minutes(59))) << "or its holds would begin anew";
  EXPECT_TRUE(CanDiscard(held, held.held_until + minutes(60)));
  RegistryPace saving = answered;
  saving.allowance = {.limit = 100, .remaining = 3};
  saving.allowance_at = kNow;
  EXPECT_FALSE(CanDiscard(saving, kNow + hours(2)));
  EXPECT_TRUE(CanDiscard(saving, kNow + hours(6)));
}

TEST(Pace, HoldsDoubleToFifteenMinutes) {
  RegistryPace pace = Silent(5);
  base::TimePoint at = kNow;
  for (int i = 0; i < 10; i++) {
    at = pace.held_until;
    pace = Told(pace, RegistryAnswerKind::kUnreachable, at, {}, 0.5);
  }
  EXPECT_EQ(pace.held_until, at + minutes(15));
}

TEST(Pace, AnyAnswerEndsTheTrouble) {
  for (auto kind : {RegistryAnswerKind::kSame, RegistryAnswerKind::kMoved, RegistryAnswerKind::kTagMissing,
                    RegistryAnswerKind::kAccessDenied, RegistryAnswerKind::kIndeterminate}) {
    RegistryPace pace = Told(Silent(5), kind, kNow + minutes(2));
    EXPECT_FALSE(pace.probing);
    EXPECT_FALSE(pace.away_since);
    EXPECT_FALSE(pace.away_since_wall);
    EXPECT_FALSE(pace.trouble);
    EXPECT_EQ(pace.failures, 0);
  }
}

TEST(Pace, PatienceIsKeptToTheSecond) {
  RegistryPace pace = Told({}, RegistryAnswerKind::kRateLimited, kNow, minutes(10));
  EXPECT_EQ(pace.held_until, kNow + minutes(10));
  EXPECT_LE(Told({}, RegistryAnswerKind::kRateLimited, kNow, minutes(10), 0.99).held_until,
            kNow + minutes(10) + seconds(150));
  EXPECT_EQ(Told({}, RegistryAnswerKind::kRateLimited, kNow).held_until, kNow + minutes(1));
}

TEST(Pace, AProbeThatWasNotSentIsNoFurtherFailure) {
  RegistryPace pace = Silent(5);
  base::TimePoint at = pace.held_until;
  RegistryAnswer not_sent{.kind = RegistryAnswerKind::kUnreachable, .retry_after = seconds(7), .requests = 0};
  pace = AfterCheck(AfterStart(pace, at), not_sent, at, {}, 0);
  EXPECT_EQ(pace.held_until, at + seconds(7));
  EXPECT_EQ(pace.holds, 1);
}

TEST(Pace, ItIsAwaySinceTheFirstSilence) {
  RegistryPace pace = Told({}, RegistryAnswerKind::kUnreachable, kNow);
  pace = Told(pace, RegistryAnswerKind::kServerError, kNow + minutes(5));
  EXPECT_EQ(pace.away_since, kNow);
  ASSERT_TRUE(pace.trouble);
  EXPECT_EQ(pace.trouble->kind, RegistryAnswerKind::kServerError) << "the latest is what is said";
}

TEST(Pace, WhatACheckReallyTookIsCharged) {
  RegistryPace pace = AfterStart({}, kNow);
  EXPECT_EQ(pace.budget.At(kNow), image::kRegistryRequests.burst - 1);
  pace = AfterCheck(pace, {.kind = RegistryAnswerKind::kSame, .requests = 3}, kNow, {}, 0);
  EXPECT_EQ(pace.budget.At(kNow), image::kRegistryRequests.burst - 3);
  EXPECT_EQ(pace.budget.At(kNow + seconds(60)), image::kRegistryRequests.burst);
  EXPECT_EQ(pace.requests, 3U);
}

struct AllowanceRow {
  std::string name;
  std::optional<image::PullAllowance> told;
  base::Duration ago;
  bool expect;
};
TEST_TABLE(AllowanceTest, TheLastPullsAreSaved, AllowanceRow) {
  RegistryAnswer answer{.kind = RegistryAnswerKind::kMoved, .allowance = row.told, .requests = 1};
  RegistryPace pace = AfterCheck(AfterStart({}, kNow), answer, kNow, {}, 0);
  EXPECT_EQ(UpdatesWait(pace, kNow + row.ago), row.expect);
}

constexpr seconds kSixHours{21'600};

// Registry rule R28: at most max(5, 10 %) left.
TEST_ROWS(Docker, AllowanceTest, {"NothingSaid", std::nullopt, seconds(0), false},
          {"Plenty", image::PullAllowance{100, 76, kSixHours}, seconds(0), false},
          {"MoreThanATenth", image::PullAllowance{200, 21, kSixHours}, seconds(0), false},
          {"ATenth", image::PullAllowance{200, 20, kSixHours}, seconds(0), true},
          {"FiveOfFew", image::PullAllowance{10, 5, kSixHours}, seconds(0), true},
          {"SixOfFew", image::PullAllowance{10, 6, kSixHours}, seconds(0), false},
          {"None", image::PullAllowance{100, 0, kSixHours}, minutes(359), true},
          {"TheWindowIsOver", image::PullAllowance{100, 0, kSixHours}, minutes(360), false},
          {"AnHoursWindow", image::PullAllowance{10, 0, seconds(3600)}, minutes(60), false},
          {"WindowNotTold", image::PullAllowance{100, 0, {}}, minutes(359), true});

TEST(Allowance, HoldsUntilAnAnswerAboutATagSaysOtherwise) {
  auto told = [](RegistryPace pace, RegistryAnswerKind kind, std::optional<image::PullAllowance> allowance) {
    return AfterCheck(AfterStart(std::move(pace), kNow), {.kind = kind, .allowance = allowance}, kNow, {}, 0);
  };
  RegistryPace pace = told({}, RegistryAnswerKind::kSame, image::PullAllowance{100, 3, kSixHours});
  pace = told(pace, RegistryAnswerKind::kUnreachable, std::nullopt);
  pace = told(pace, RegistryAnswerKind::kAccessDenied, std::nullopt);
  EXPECT_TRUE(UpdatesWait(pace, kNow));
  EXPECT_FALSE(UpdatesWait(told(pace, RegistryAnswerKind::kSame, std::nullopt), kNow));
  EXPECT_FALSE(UpdatesWait(
      told(pace, RegistryAnswerKind::kRateLimited, image::PullAllowance{100, 50, kSixHours}), kNow));
}

TEST(ScheduleChecks, TwoOfARegistryAtOnce) {
  EXPECT_EQ(ScheduleChecks(Due(5), {}, kNow).start.size(),
            static_cast<std::size_t>(image::kRequestsPerRegistry));
}

TEST(ScheduleChecks, EightInAll) {
  std::vector<CheckCandidate> slots;
  for (int i = 0; i < 10; i++) {
    for (CheckCandidate& slot : Due(2, "r" + std::to_string(i) + ".io")) slots.push_back(std::move(slot));
  }
  EXPECT_EQ(ScheduleChecks(slots, {}, kNow).start.size(), static_cast<std::size_t>(image::kChecksAtOnce));
  RegistryPace busy;
  busy.running = image::kChecksAtOnce - 1;
  EXPECT_EQ(ScheduleChecks(slots, {{"busy.io", busy}}, kNow).start.size(), 1U) << "those that run count";
}

TEST(ScheduleChecks, WithoutABudgetTheyWaitForIt) {
  RegistryPace pace;
  pace.budget.Take(image::kRegistryRequests.burst, kNow);
  ChecksToStart out = ScheduleChecks(Due(1), {{"r.io", pace}}, kNow);
  EXPECT_TRUE(out.start.empty());
  EXPECT_EQ(out.next_turn_at, kNow + milliseconds(200));
}

TEST(ScheduleChecks, AHeldRegistryIsNotAsked) {
  ChecksToStart out = ScheduleChecks(Due(3), {{"r.io", Silent(5)}}, kNow);
  EXPECT_TRUE(out.start.empty());
  EXPECT_EQ(out.skipped.size(), 3U);
}

TEST(ScheduleChecks, ThenOneProbeThoughNoneIsDue) {
  RegistryPace pace = Silent(5);
  base::TimePoint later = pace.held_until;
  std::vector<CheckCandidate> slots = Due(3);
  for (CheckCandidate& slot : slots) slot.due = later + minutes(30);
  EXPECT_EQ(ScheduleChecks(slots, {{"r.io", pace}}, later).start.size(), 1U);
  EXPECT_TRUE(ScheduleChecks(slots, {{"r.io", AfterStart(pace, later)}}, later).start.empty());
}

TEST(ScheduleChecks, UrgentOnesFirstThenTheLongestDue) {
  std::vector<CheckCandidate> slots = Due(3);
  slots[0].due = kNow - seconds(10);
  slots[2].urgent = true;
  EXPECT_EQ(ScheduleChecks(slots, {}, kNow).start, (std::vector<std::size_t>{2, 0}));
}

TEST(Held, TheAnswerNamesTheTroubleAndCostsNothing) {
  RegistryAnswer answer = AnswerWhileHeld(Silent(5));
  EXPECT_EQ(answer.kind, RegistryAnswerKind::kUnreachable);
  EXPECT_EQ(answer.detail, image::RegistryDetail::kNotAsked);
  EXPECT_EQ(answer.requests, 0);
}

// A search for credentials counts for its registry alone.
TEST(Checks, SearchesForCredentialsTakeNothingFromOtherRegistries) {
  std::vector<CheckCandidate> slots;
  for (int i = 0; i < 20; i++) {
    slots.push_back({.entry = static_cast<std::size_t>(i),
                     .registry = "r" + std::to_string(i / 2),
                     .due = kNow,
                     .lookup = {LookupState::kUnderWay, kNow}});
  }
  slots.push_back({.entry = 20, .registry = "r0", .due = kNow, .lookup = {LookupState::kNeeded, {}}});
  slots.push_back({.entry = 21, .registry = "other.io", .due = kNow, .lookup = {LookupState::kNeeded, {}}});
  slots.push_back({.entry = 22, .registry = "other.io", .due = kNow});
  ChecksToStart checks = ScheduleChecks(slots, {}, kNow);
  EXPECT_EQ(checks.needs_credentials, (std::vector<std::size_t>{21}));
  EXPECT_EQ(checks.start, (std::vector<std::size_t>{22}));
}

TEST(Held, APullThatIsHeldHoldsChecks) {
  RegistryPace pace = AfterPullThrottled({}, kNow + minutes(5));
  EXPECT_EQ(ScheduleChecks(Due(1), {{"r.io", pace}}, kNow).skipped.size(), 1U);
  EXPECT_EQ(AnswerWhileHeld(pace).kind, RegistryAnswerKind::kRateLimited);
}

}  // namespace
}  // namespace prefetch::plan::registry_pace_test
