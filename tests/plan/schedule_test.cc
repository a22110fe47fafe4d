#include "plan/schedule.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/registry_health.h"
#include "rows.h"

namespace prefetch::plan::schedule_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const base::TimePoint kNow{seconds(1000)};
using Starts = std::vector<std::size_t>;

PullCandidate Slot(std::size_t entry, const std::string& registry = "r.io") {
  return {.entry = entry, .registry = registry};
}

std::vector<PullCandidate> Slots(std::size_t count) {
  std::vector<PullCandidate> slots;
  for (std::size_t i = 0; i < count; i++) slots.push_back(Slot(i));
  return slots;
}

TEST(Schedule, FromAFarRegistryEightAtATime) {
  std::vector<PullCandidate> due = Slots(10);
  for (PullCandidate& slot : due) slot.far = true;
  EXPECT_EQ(Schedule({.due = due}, {}, kNow).start, (Starts{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(Schedule({.due = due, .settled = true}, {}, kNow).start, (Starts{0, 1}));
  ScheduleInput in_trouble{.due = due};
  in_trouble.registries["r.io"] = {.failures = 2};
  EXPECT_EQ(Schedule(in_trouble, {}, kNow).start, (Starts{0}));
  Limits limits;
  limits.parallel_pulls = limits.parallel_pulls_far = 2;
  limits.per_registry_pulls = 1;
  EXPECT_EQ(Schedule({.due = due}, limits, kNow).start, (Starts{0}));
}

// The places of far registries delay nobody, and give near ones no more than they have by themselves.
TEST(Schedule, ANearRegistryBesideAFarOne) {
  std::vector<PullCandidate> due, running;
  for (std::size_t i = 0; i < 10; i++) due.push_back(Slot(i, "near.io"));
  for (std::size_t i = 0; i < 7; i++) {
    running.push_back(Slot(20 + i, "far.io"));
    running.back().far = true;
  }
  EXPECT_EQ(Schedule({.due = due, .running = running}, {}, kNow).start, (Starts{0}));
  running.resize(1);
  EXPECT_EQ(Schedule({.due = due, .running = running}, {}, kNow).start, (Starts{0, 1, 2, 3}));
  due.push_back(Slot(10, "far.io"));
  due.back().far = true;
  EXPECT_EQ(Schedule({.due = due, .running = running}, {}, kNow).start, (Starts{0, 1, 2, 3, 10}));
}

TEST(Schedule, TheLargestFirstWhereThatIsAllowed) {
  std::vector<PullCandidate> due = Slots(10);
  for (PullCandidate& slot : due) slot.bytes = 10;
  due.back().bytes = 1000;
  EXPECT_EQ(Schedule({.due = due}, {}, kNow).start, (Starts{0, 1, 2, 3}));
  EXPECT_EQ(Schedule({.due = due, .may_reorder = true}, {}, kNow).start, (Starts{9, 0, 1, 2}));
  EXPECT_EQ(Schedule({.due = due, .settled = true, .may_reorder = true}, {}, kNow).start, (Starts{0, 1}));
}

TEST(Schedule, OneThatIsOnlyLookedAtTakesNoPlace) {
  std::vector<PullCandidate> running = {Slot(20), Slot(21), Slot(22), Slot(23)};
  EXPECT_EQ(Schedule({.due = Slots(10), .running = running}, {}, kNow).start, Starts{});
  running[1].being_verified = true;
  EXPECT_EQ(Schedule({.due = Slots(10), .running = running}, {}, kNow).start, (Starts{0}));
  running[2].being_verified = true;
  EXPECT_EQ(Schedule({.due = Slots(10), .running = running, .settled = true}, {}, kNow).start, Starts{});
}

TEST(Schedule, ContentThatWasBroughtLeavesItsPlace) {
  std::vector<PullCandidate> running = {Slot(20), Slot(21), Slot(22), Slot(23)};
  running[0].fetch = running[3].fetch = FetchPhase::kUnpacks;
  EXPECT_EQ(Schedule({.due = Slots(10), .running = running}, {}, kNow).start, (Starts{0, 1}));
  EXPECT_EQ(Schedule({.due = Slots(10), .running = running, .settled = true}, {}, kNow).start, Starts{});
  running[1].fetch = FetchPhase::kUnpacks;
  EXPECT_EQ(Schedule({.due = Slots(10), .running = running, .settled = true}, {}, kNow).start, Starts{});
  running[2].fetch = FetchPhase::kUnpacks;
  EXPECT_EQ(Schedule({.due = Slots(10), .running = running}, {}, kNow).start, (Starts{0, 1, 2, 3}));
}

TEST(Schedule, AsManyAsThereArePlacesMayBeUnpackedBesides) {
  std::vector<PullCandidate> running = Slots(6);
  for (PullCandidate& slot : running) slot.fetch = FetchPhase::kUnpacks;
  const std::vector<PullCandidate> due = {Slot(10), Slot(11), Slot(12), Slot(13), Slot(14)};
  EXPECT_EQ(Schedule({.due = due, .running = running}, {}, kNow).start, (Starts{10, 11}));
}

// The runtime is not busy with them yet.
TEST(Schedule, WhatWaitsForOthersTakesNoPlace) {
  std::vector<PullCandidate> running = Slots(14);
  for (PullCandidate& slot : running) slot.fetch = FetchPhase::kAwaitsShared;
  for (std::size_t i = 0; i < 5; i++) running[i].fetch = FetchPhase::kFetched;
  std::vector<PullCandidate> due;
  for (std::size_t i = 20; i < 25; i++) due.push_back(Slot(i));
  EXPECT_EQ(Schedule({.due = due, .running = running}, {}, kNow).start, Starts{}) << "too many wait";
  running.resize(10);
  EXPECT_EQ(Schedule({.due = due, .running = running}, {}, kNow).start, (Starts{20, 21}));
  running.resize(8);
  EXPECT_EQ(Schedule({.due = due, .running = running}, {}, kNow).start, (Starts{20, 21, 22, 23}));
  running.resize(3);
  EXPECT_EQ(Schedule({.due = due, .running = running, .settled = true}, {}, kNow).start, Starts{20})
      << "two of three leave their places";
}

TEST(Schedule, PullsThatWaitLeaveAPlaceToOtherRegistries) {
  ScheduleInput input{.due = {Slot(20), Slot(21, "other.io")}, .running = Slots(15), .agent_downloads = true};
  for (PullCandidate& slot : input.running) slot.fetch = FetchPhase::kAwaitsShared;
  for (std::size_t i = 0; i < 4; i++) input.running[i].fetch = FetchPhase::kUnpacks;
  for (std::size_t i = 4; i < 7; i++) input.running[i].fetch = FetchPhase::kDownloads;
  EXPECT_EQ(Schedule(input, {}, kNow).start, Starts{21});
}

TEST(PullImagesToStart, AreTwiceAsManyAsThereArePlacesInTheOrderOfPulls) {
  ScheduleInput input{.running = Slots(12)};
  for (PullCandidate& slot : input.running) slot.fetch = FetchPhase::kFetched;
  input.running[0].fetch = FetchPhase::kDownloads;
  input.running[1].fetch = FetchPhase::kAwaitsShared;
  input.running[2].fetch = input.running[3].fetch = input.running[4].fetch = FetchPhase::kUnpacks;
  input.running[4].being_verified = true;
  input.running[11].priority = 1;
  EXPECT_EQ(PullImagesToStart(input, {}), (Starts{11, 5, 6, 7, 8, 9}));
  EXPECT_EQ(input.running[11].fetch, FetchPhase::kUnpacks);
  EXPECT_EQ(input.running[10].fetch, FetchPhase::kFetched);
  EXPECT_EQ(PullImagesToStart(input, {}), Starts{});
}

TEST(Schedule, ALimitOfOnePullStaysOneThoughItsContentIsHere) {
  std::vector<PullCandidate> running = {Slot(20)};
  running[0].fetch = FetchPhase::kUnpacks;
  Limits one;
  one.parallel_pulls = 1;
  EXPECT_EQ(Schedule({.due = Slots(2), .running = running}, one, kNow).start, Starts{});
  one = {};
  one.per_registry_pulls = 1;
  EXPECT_EQ(Schedule({.due = Slots(2), .running = running}, one, kNow).start, Starts{});
  ScheduleInput in_trouble{.due = Slots(2), .running = running};
  in_trouble.registries["r.io"] = {.failures = 2};
  EXPECT_EQ(Schedule(in_trouble, {}, kNow).start, Starts{});
}

TEST(Schedule, ASuspectIsUnpackedAloneAsWell) {
  std::vector<PullCandidate> running = {Slot(20)};
  running[0].fetch = FetchPhase::kUnpacks;
  running[0].suspect = true;
  std::vector<PullCandidate> due = Slots(2);
  due[0].suspect = true;
  EXPECT_EQ(Schedule({.due = due, .running = running}, {}, kNow).start, (Starts{1}));
}

TEST(Schedule, PriorityThenThoseThatDidNotFailThenAsListed) {
  std::vector<PullCandidate> due = Slots(5);
  due[4].priority = 10;
  due[0].failures = 2;
  due[1].failures = 1;
  EXPECT_EQ(Schedule({.due = due}, {}, kNow).start, (Starts{4, 2, 3, 1}));
}

TEST(Schedule, WhatSomebodyWaitsForGoesFirst) {
  std::vector<PullCandidate> due = Slots(6);
  due[0].priority = 10;
  due[4].preflight_waits = true;
  due[5].preflight_waits = due[5].update = true;
  EXPECT_EQ(Schedule({.due = due}, {}, kNow).start, (Starts{4, 0, 1, 2}));
}

TEST(Schedule, WhatIsOnNoListTakesHalfOfThePlacesAtMost) {
  std::vector<PullCandidate> due = Slots(8);
  for (std::size_t i = 4; i < 8; i++) due[i].preflight_waits = due[i].unlisted = true;
  EXPECT_EQ(Schedule({.due = due}, {}, kNow).start, (Starts{4, 5, 0, 1}));
  EXPECT_EQ(Schedule({.due = due, .settled = true}, {}, kNow).start, (Starts{4, 0}));
  Limits one;
  one.parallel_pulls = 1;
  EXPECT_EQ(Schedule({.due = due}, one, kNow).start, (Starts{4}));
  EXPECT_EQ(Schedule({.due = due, .running = {due[6], due[7]}}, {}, kNow).start, (Starts{0, 1}));
}

TEST(Schedule, OneRegistryDoesNotTakeAllPlaces) {
  Limits limits;
  limits.per_registry_pulls = 2;
  std::vector<PullCandidate> due = Slots(4);
  due.push_back(Slot(4, "other.io"));
  EXPECT_EQ(Schedule({.due = due}, limits, kNow).start, (Starts{0, 1, 4}));
}

TEST(Schedule, ARegistryInTroubleGetsOneProbe) {
  ScheduleInput input{.due = Slots(3)};
  input.due.push_back(Slot(3, "well.io"));
  input.registries["r.io"] = {.failures = 2};
  EXPECT_EQ(Schedule(input, {}, kNow).start, (Starts{0, 3}));
}

TEST(Schedule, AHeldRegistryWaitsAndSaysUntilWhen) {
  ScheduleInput input{.due = Slots(2)};
  input.registries["r.io"] = {.failures = 3, .not_before = kNow + seconds(9)};
  ScheduleOutput output = Schedule(input, {}, kNow);
  EXPECT_TRUE(output.start.empty());
  EXPECT_EQ(output.next_turn_at, kNow + seconds(9));
  EXPECT_EQ(Schedule(input, {}, kNow + seconds(9)).start, (Starts{0}));
}

TEST(Schedule, SameContentWaitsForTheFirst) {
  std::vector<PullCandidate> due = {Slot(0, "a.io"), Slot(1, "b.io"), Slot(2)};
  due[0].content = due[1].content = "sha256:1";
  EXPECT_EQ(Schedule({.due = due}, {}, kNow).start, (Starts{0, 2}));
  PullCandidate hangs = due[0];
  hangs.idle = true;
  EXPECT_EQ(Schedule({.due = {due[1]}, .running = {due[0]}}, {}, kNow).start, (Starts{}));
  EXPECT_EQ(Schedule({.due = {due[1]}, .running = {hangs}}, {}, kNow).start, (Starts{1}));
  due[1].registry = "a.io";
  EXPECT_EQ(Schedule({.due = {due[1]}, .running = {hangs}}, {}, kNow).start, (Starts{}));
}

TEST(Schedule, OneLargeImageAtATimeOnASettledNode) {
  std::vector<PullCandidate> due = Slots(3);
  due[0].bytes = due[1].bytes = 3ULL << 30;
  EXPECT_EQ(Schedule({.due = due, .settled = true}, {}, kNow).start, (Starts{0, 2}));
  EXPECT_EQ(Schedule({.due = due}, {}, kNow).start, (Starts{0, 1, 2}));
}

// One of the pulls that ran when the runtime ended is to blame.
TEST(Schedule, OneSuspectAtATime) {
  std::vector<PullCandidate> due = Slots(4);
  due[0].suspect = due[1].suspect = due[2].suspect = true;
  EXPECT_EQ(Schedule({.due = due}, {}, kNow).start, (Starts{0, 3}));
  EXPECT_EQ(Schedule({.due = {due[1], due[3]}, .running = {due[0]}}, {}, kNow).start, (Starts{3}));
}

TEST(Schedule, TheLastPlaceIsForAnotherRegistryIfThatCanUseIt) {
  std::vector<PullCandidate> due = Slots(8);
  EXPECT_EQ(Schedule({.due = due}, {}, kNow).start, (Starts{0, 1, 2, 3}));
  due.push_back(Slot(8, "other.io"));
  EXPECT_EQ(Schedule({.due = due}, {}, kNow).start, (Starts{0, 1, 2, 8}));
  EXPECT_EQ(Schedule({.due = due, .settled = true}, {}, kNow).start, (Starts{0, 8}));
  for (std::size_t i = 0; i < 8; i++) due[i].priority = 10;
  EXPECT_EQ(Schedule({.due = due}, {}, kNow).start, (Starts{0, 1, 2, 8}));
  Limits one;
  one.parallel_pulls = 1;
  EXPECT_EQ(Schedule({.due = due}, one, kNow).start, (Starts{0}));
}

// It failed once, and is tried again in a moment.
TEST(Schedule, TheLastPlaceIsForAnotherRegistryThatIsDueSoon) {
  EXPECT_EQ(Schedule({.due = Slots(8), .soon = {"other.io"}}, {}, kNow).start, (Starts{0, 1, 2}));
  EXPECT_EQ(Schedule({.due = Slots(8), .soon = {Slots(1)[0].registry}}, {}, kNow).start,
            (Starts{0, 1, 2, 3}));
}

// Its four pulls began when nothing else was due.
TEST(Schedule, WhereOneRegistryHasAllPlacesAnotherGetsOneMore) {
  ScheduleInput input{.due = {Slot(0), Slot(1), Slot(2)},
                      .running = {Slot(10), Slot(11), Slot(12), Slot(13)}};
  for (PullCandidate& slot : input.running) slot.started_at = kNow;
  input.due[1].registry = input.due[2].registry = "other.io";
  ScheduleOutput output = Schedule(input, {}, kNow + seconds(9));
  EXPECT_EQ(output.start, Starts{});
  EXPECT_EQ(output.next_turn_at, kNow + kDominanceLimit);
  EXPECT_EQ(Schedule(input, {}, kNow + kDominanceLimit).start, Starts{1});
  input.settled = true;  // two places, and four run
  EXPECT_EQ(Schedule(input, {}, kNow + kDominanceLimit).start, Starts{1});
  input.settled = false;
  input.running.push_back(input.due[1]);
  EXPECT_EQ(Schedule(input, {}, kNow + minutes(5)).start, Starts{}) << "one more, not two";

  ScheduleInput own{.due = {Slot(0)}, .running = input.running};
  own.running.pop_back();
  EXPECT_EQ(Schedule(own, {}, kNow + minutes(5)).start, Starts{});
  EXPECT_EQ(Schedule(own, {}, kNow + minutes(5)).next_turn_at, base::TimePoint::max());

  ScheduleInput shared = input;
  shared.running.pop_back();
  shared.running[3].registry = "third.io";
  EXPECT_EQ(Schedule(shared, {}, kNow + minutes(5)).start, Starts{}) << "two registries have them";

  // Its content is here, so it holds no place among downloads.
  ScheduleInput unpacking = input;
  unpacking.running.back() = Slot(14, "third.io");
  unpacking.running.back().fetch = FetchPhase::kUnpacks;
  EXPECT_EQ(Schedule(unpacking, {}, kNow + minutes(5)).start, Starts{1});

  Limits one;
  one.parallel_pulls = 1;
  ScheduleInput alone{.due = {input.due[1]}, .running = {own.running.front()}};
  EXPECT_EQ(Schedule(alone, one, kNow + minutes(5)).start, Starts{});
}

// A registry that hangs, or trickles, takes no place that another one could use; its own are taken.
TEST(Schedule, IdlePullsKeepNoPlaceFromOtherRegistries) {
  ScheduleInput input{.running = {Slot(10), Slot(11), Slot(12), Slot(13)}};
  for (std::size_t i = 1; i < 6; i++) input.due.push_back(Slot(i, "other.io"));
  EXPECT_EQ(Schedule(input, {}, kNow).start, Starts{});
  for (PullCandidate& slot : input.running) slot.idle = true;
  EXPECT_EQ(Schedule(input, {}, kNow).start, (Starts{1, 2, 3, 4}));
  input.settled = true;
  EXPECT_EQ(Schedule(input, {}, kNow).start, Starts{});
  Limits one;
  one.parallel_pulls = 1;
  input = {.due = {Slot(0, "other.io")}, .running = {input.running.front()}};
  EXPECT_EQ(Schedule(input, one, kNow).start, Starts{}) << "a limit of one pull stays one";
}

TEST(Schedule, WhereTheAgentDownloadsEachRegistryHasAPull) {
  ScheduleInput input{
      .due = {Slot(0, "hang0"), Slot(1, "a.io"), Slot(2, "b.io"), Slot(3, "b.io"), Slot(4, "a.io")}};
  for (std::size_t i = 0; i < 4; i++) input.running.push_back(Slot(10 + i, "hang" + std::to_string(i)));
  EXPECT_EQ(Schedule(input, {}, kNow).start, Starts{}) << "the runtime's queue would hold them";
  input.agent_downloads = true;
  EXPECT_EQ(Schedule(input, {}, kNow).start, (Starts{1, 2}));
  input.due[0].priority = 1;
  EXPECT_EQ(Schedule(input, {}, kNow).start, Starts{}) << "a pull of higher priority waits";
  input.due[1].priority = 1;
  EXPECT_EQ(Schedule(input, {}, kNow).start, Starts{1});
  input.due[0].priority = input.due[1].priority = 0;
  for (std::size_t i = 4; i < 15; i++) input.running.push_back(Slot(10 + i, "hang" + std::to_string(i)));
  EXPECT_EQ(Schedule(input, {}, kNow).start, Starts{1}) << "sixteen in all";
  input.running.resize(4);
  input.settled = true;
  EXPECT_EQ(Schedule(input, {}, kNow).start, Starts{});
  Limits one;
  one.parallel_pulls = 1;
  input = {.due = {Slot(0, "a.io")}, .running = {Slot(1, "hang0")}, .agent_downloads = true};
  EXPECT_EQ(Schedule(input, one, kNow).start, Starts{}) << "a limit of one pull stays one";
}

// In its first second, nobody knows whether a registry hangs.
TEST(Schedule, RegistriesThatBroughtNothingKeepNoPlaceFromThoseThatBring) {
  ScheduleInput input{.agent_downloads = true};
  for (std::size_t i = 0; i < 6; i++) input.running.push_back(Slot(10 + i, "new" + std::to_string(i)));
  input.running.push_back(Slot(19, "a.io"));
  for (std::size_t i = 0; i < 5; i++) input.due.push_back(Slot(i, "a.io"));
  EXPECT_EQ(Schedule(input, {}, kNow).start, Starts{});
  input.delivering = {"a.io", "b.io"};
  EXPECT_EQ(Schedule(input, {}, kNow).start, (Starts{0, 1, 2})) << "the places that it has alone";
  input.running.push_back(Slot(20, "b.io"));
  EXPECT_EQ(Schedule(input, {}, kNow).start, (Starts{0, 1}));
  input.due.push_back(Slot(5, "new0"));
  input.due.back().priority = 1;
  EXPECT_EQ(Schedule(input, {}, kNow).start, Starts{}) << "a pull of higher priority waits";
  input.due.pop_back();
  input.agent_downloads = false;
  EXPECT_EQ(Schedule(input, {}, kNow).start, Starts{}) << "the runtime's queue would hold them";
  input.agent_downloads = input.settled = true;
  EXPECT_EQ(Schedule(input, {}, kNow).start, Starts{});
}

TEST(Schedule, IdlePullsOfManyRegistriesHaveALimit) {
  ScheduleInput input{.due = {Slot(0, "other.io"), Slot(1, "other.io")}};
  for (std::size_t i = 0; i < 15; i++) {
    input.running.push_back(Slot(10 + i, "hangs" + std::to_string(i)));
    input.running.back().idle = true;
  }
  EXPECT_EQ(Schedule(input, {}, kNow).start, Starts{0}) << "sixteen in all";
}

TEST(Schedule, ARegistryThatCannotUseAPlaceKeepsNone) {
  ScheduleInput input{.due = Slots(8)};
  input.due.push_back(Slot(8, "held.io"));
  input.registries["held.io"] = {.failures = 2, .not_before = kNow + seconds(9)};
  EXPECT_EQ(Schedule(input, {}, kNow).start, (Starts{0, 1, 2, 3}));
  input.registries["held.io"].not_before = kNow;
  input.running = {Slot(9, "held.io")};  // its one probe
  EXPECT_EQ(Schedule(input, {}, kNow).start, (Starts{0, 1, 2}));
}

PullCandidate Without(PullCandidate slot, CredentialLookup look_up = {LookupState::kNeeded, {}}) {
  slot.lookup = look_up;
  return slot;
}

TEST(Schedule, CredentialsAreLookedUpForWhatCouldStart) {
  std::vector<PullCandidate> due;
  for (std::size_t i = 0; i < 6; i++) due.push_back(Without(Slot(i)));
  ScheduleOutput output = Schedule({.due = due}, {}, kNow);
  EXPECT_TRUE(output.start.empty());
  EXPECT_EQ(output.needs_credentials, (Starts{0, 1, 2, 3}));
  output = Schedule({.due = due, .running = {Slot(6), Slot(7), Slot(8)}}, {}, kNow);
  EXPECT_EQ(output.needs_credentials, (Starts{0}));
  output = Schedule({.due = due, .running = {Slot(6), Slot(7), Slot(8), Slot(9)}}, {}, kNow);
  EXPECT_TRUE(output.needs_credentials.empty());
  for (PullCandidate& slot : due) slot.lookup = {LookupState::kUnderWay, kNow};
  EXPECT_TRUE(Schedule({.due = due}, {}, kNow).needs_credentials.empty());
}

TEST(Schedule, ALookUpHoldsNoPlaceButForAMomentAgainstWhatCountsForLess) {
  std::vector<PullCandidate> due;
  for (std::size_t i = 0; i < 4; i++) {
    due.push_back(Without(Slot(i, "r" + std::to_string(i)), {LookupState::kUnderWay, kNow}));
  }
  due.push_back(Slot(4, "public.io"));
  EXPECT_EQ(Schedule({.due = due}, {}, kNow).start, (Starts{4}));
  due[4].priority = -1;
  ScheduleOutput output = Schedule({.due = due}, {}, kNow);
  EXPECT_TRUE(output.start.empty());
  EXPECT_EQ(output.next_turn_at, kNow + kPromptLookup);
  EXPECT_EQ(Schedule({.due = due}, {}, kNow + kPromptLookup).start, (Starts{4}));
  // One registry keeps not even for a moment all of them.
  for (std::size_t i = 0; i < 4; i++) due[i].registry = "r.io";
  EXPECT_EQ(Schedule({.due = due}, {}, kNow).start, (Starts{4}));
}

TEST(Schedule, ASlowLookUpKeepsNoRoomAndNoPlaceOfAnotherRegistry) {
  std::vector<PullCandidate> due = {Without(Slot(0, "slow.io"), {LookupState::kUnderWay, kNow})};
  due[0].disk = {.min_space = 50, .reserved = 100};
  for (std::size_t i = 1; i < 6; i++) due.push_back(Slot(i));
  due[5].disk = {.min_space = 50, .reserved = 100};
  ScheduleInput input{.due = due, .usable = 100};
  EXPECT_EQ(Schedule(input, {}, kNow).start, (Starts{}));
  EXPECT_EQ(Schedule(input, {}, kNow + kPromptLookup).start, (Starts{1, 2, 3, 4}));
}

TEST(Schedule, TellsWhetherRoomAloneIsShort) {
  PullCandidate one = Slot(0), other = Slot(1);
  one.disk = other.disk = {.min_space = 50, .reserved = 100};
  EXPECT_EQ(Schedule({.due = {other}, .running = {one}, .usable = 150}, {}, kNow).short_of_disk_space,
            Starts{1});
  EXPECT_EQ(Schedule({.due = {other}, .running = {one}, .usable = 200}, {}, kNow).short_of_disk_space,
            Starts{});
  const std::vector<PullCandidate> all_places(4, one);
  EXPECT_EQ(Schedule({.due = {other}, .running = all_places, .usable = 150}, {}, kNow).short_of_disk_space,
            Starts{});
}

TEST(Schedule, WhatStalledGoesBehindAllOthers) {
  std::vector<PullCandidate> due = Slots(4);
  due[0].stalled = true;
  due[0].priority = 10;
  due[0].preflight_waits = true;
  due[3].update = true;
  EXPECT_EQ(Schedule({.due = due}, {}, kNow).start, (Starts{1, 2, 3, 0}));
  EXPECT_TRUE(ComesBefore(due[3], due[0]));
}

TEST(RegistryHealth, IsForgottenAnHourAfterItsHold) {
  using std::chrono::minutes;
  EXPECT_TRUE(CanDiscard(RegistryHealth{}, kNow + minutes(60)));
  for (auto until : {&RegistryHealth::not_before, &RegistryHealth::limited_until}) {
    RegistryHealth health;
    health.*until = kNow;
    EXPECT_FALSE(CanDiscard(health, kNow + minutes(59)));
    EXPECT_TRUE(CanDiscard(health, kNow + minutes(60)));
  }
}

TEST(AfterRegistryFailure, OneMayBeChanceMoreSlowDown) {
  RegistryHealth health = AfterRegistryFailure({}, Reason::kUnreachable, {}, kNow, 1.0);
  EXPECT_LE(health.not_before, kNow);
  health = AfterRegistryFailure(health, Reason::kUnreachable, {}, kNow, 1.0);
  EXPECT_EQ(health.not_before, kNow + seconds(1));
  for (int i = 0; i < 20; i++) health = AfterRegistryFailure(health, Reason::kUnreachable, {}, kNow, 1.0);
  EXPECT_EQ(health.not_before, kNow + minutes(1));
}

TEST(AfterRegistryFailure, RateLimitHoldsAtOnceAndForLong) {
  RegistryHealth health = AfterRegistryFailure({}, Reason::kRateLimited, {}, kNow, 0);
  EXPECT_EQ(health.not_before, kNow + seconds(60));
  EXPECT_EQ(AfterRegistryFailure({}, Reason::kRateLimited, minutes(20), kNow, 0).not_before,
            kNow + minutes(20));
  for (int i = 0; i < 20; i++)
    health = AfterRegistryFailure(health, Reason::kRateLimited, {}, health.not_before, 0);
  const base::TimePoint now = health.not_before;
  EXPECT_EQ(AfterRegistryFailure(health, Reason::kRateLimited, {}, now, 0).not_before, now + minutes(60));
}

// Pulls that ran side by side are all told so.
TEST(AfterRegistryFailure, OneWaveOfRateLimitsHoldsOnce) {
  RegistryHealth health;
  for (int i = 0; i < 4; i++)
    health = AfterRegistryFailure(health, Reason::kRateLimited, {}, kNow + seconds(i), 0);
  EXPECT_EQ(health.not_before, kNow + seconds(63));
  health = AfterRegistryFailure(health, Reason::kRateLimited, {}, kNow + seconds(64), 0);
  EXPECT_EQ(health.not_before, kNow + seconds(64 + 120));
}

// A registry that was away for a moment is not limited for an hour.
TEST(AfterRegistryFailure, SilenceBeforeARateLimitMakesItsHoldNoLonger) {
  RegistryHealth health;
  for (int i = 0; i < 6; i++) health = AfterRegistryFailure(health, Reason::kUnreachable, {}, kNow, 0);
  EXPECT_EQ(AfterRegistryFailure(health, Reason::kRateLimited, {}, kNow, 0).not_before, kNow + seconds(60));
}

TEST(AfterRetryRequested, EndsTheHoldOfARegistryButNotALimitOfItsRate) {
  RegistryHealth away;
  for (int i = 0; i < 8; i++) away = AfterRegistryFailure(away, Reason::kUnreachable, {}, kNow, 1);
  ASSERT_GT(away.not_before, kNow);
  const RegistryHealth again = AfterRetryRequested(away, kNow);
  EXPECT_EQ(again.not_before, kNow);
  EXPECT_EQ(again.failures, away.failures) << "one pull at a time";
  const RegistryHealth limited =
      AfterRegistryFailure({}, Reason::kRateLimited, std::chrono::minutes(30), kNow, 0);
  EXPECT_EQ(AfterRetryRequested(limited, kNow).not_before, limited.not_before);
}

using enum Distance;

struct Look {
  Distance past;
  bool knows_manifest;
  int age_ms;
  Distance expected;
};

TEST(Distance, AfterLooks) {
  for (const Look& look : {
           Look{kUnknown, true, 250, kNear},     //
           Look{kUnknown, true, 400, kNear},     //
           Look{kUnknown, true, 401, kUnknown},  // the look came late, and shows nothing
           Look{kUnknown, false, 249, kUnknown}, Look{kUnknown, false, 250, kFar},
           Look{kUnknown, false, 5000, kFar}, Look{kFar, true, 500, kFar},
           Look{kFar, true, 260, kNear},    // the first ones waited for something else
           Look{kNear, false, 5000, kNear}  // so does this one
       }) {
    EXPECT_EQ(AfterPollDuringPull(look.past, look.knows_manifest, milliseconds(look.age_ms)), look.expected)
        << look.knows_manifest << " at " << look.age_ms << " ms";
  }
}

TEST(Distance, APullThatIsOverSoonIsNear) {
  EXPECT_EQ(AfterPull(kUnknown, milliseconds(250)), kNear);
  EXPECT_EQ(AfterPull(kFar, milliseconds(100)), kNear);
  EXPECT_EQ(AfterPull(kUnknown, milliseconds(251)), kUnknown);
  EXPECT_EQ(AfterPull(kFar, milliseconds(900)), kFar);
}

using Order = std::vector<std::size_t>;

PullCandidate Of(std::size_t entry, std::uint64_t bytes) {
  PullCandidate slot;
  slot.entry = entry;
  slot.bytes = bytes;
  return slot;
}

std::vector<PullCandidate> Sized(const std::vector<std::uint64_t>& sizes) {
  std::vector<PullCandidate> due;
  for (std::uint64_t bytes : sizes) due.push_back(Of(due.size(), bytes));
  return due;
}

Order Moved(std::vector<PullCandidate> due, int parallel = 4) {
  MoveLargestFirst(due, parallel);
  Order order;
  for (const PullCandidate& slot : due) order.push_back(slot.entry);
  return order;
}

struct Row {
  std::string name;
  std::vector<std::uint64_t> sizes;
  Order order;
  int parallel = 4;
};

TEST_TABLE(MovesLargest, AmongEquals, Row) {
  EXPECT_EQ(Moved(Sized(row.sizes), row.parallel), row.order);
}

TEST_ROWS(
    Plan, MovesLargest, {"Nothing", {}, {}}, {"One", {5}, {0}}, {"NoSizeIsKnown", {0, 0, 0}, {0, 1, 2}},
    {"EqualSizes", {4, 4, 4, 4, 4, 4}, {0, 1, 2, 3, 4, 5}},
    // It would end last: 800 is more than a quarter of 824.
    {"OneLargeAtTheEnd", {4, 4, 4, 4, 4, 4, 800}, {6, 0, 1, 2, 3, 4, 5}},
    // 9 is less than a quarter of 49: the others fill the places beside it in any case.
    {"OneThatIsNoLargerThanItsShare", {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 9}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
    {"ExactlyItsShare", {3, 3, 3, 3}, {0, 1, 2, 3}},
    {"ExactlyItsShareAtTheEnd", {3, 3, 2, 4}, {0, 1, 2, 3}, 3}, {"OfOneByte", {0, 0, 0, 1}, {3, 0, 1, 2}, 5},
    {"TwoLarge", {2, 90, 2, 2, 2, 2, 2, 100}, {7, 1, 0, 2, 3, 4, 5, 6}},
    {"TheLastFewFromLargeToSmall", {1, 2, 3, 4}, {3, 2, 1, 0}},
    {"OfTheSameSizeTheEarlierFirst", {1, 1, 1, 1, 90, 90}, {4, 5, 0, 1, 2, 3}},
    // Seven of 6.75 on average: 12 is more than a quarter of that.
    {"UnknownSizesCountAsTheAverage", {5, 0, 0, 0, 5, 5, 12}, {6, 0, 1, 2, 3, 4, 5}},
    // Eleven of 7 on average.
    {"ManyUnknownSizes", {5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
    {"OneAtATime", {4, 4, 800}, {0, 1, 2}, 1});

TEST(LargestFirst, KeepsWithinItsEquals) {
  std::vector<PullCandidate> due = Sized({4, 4, 4, 4, 4, 800});
  due[0].priority = due[1].priority = 5;
  EXPECT_EQ(Moved(due), (Order{0, 1, 5, 2, 3, 4}));
  due = Sized({4, 4, 4, 4, 800});
  due[4].failures = 1;
  EXPECT_EQ(Moved(due), (Order{0, 1, 2, 3, 4}));
  due[4].failures = 0;
  due[4].update = true;
  EXPECT_EQ(Moved(due), (Order{0, 1, 2, 3, 4}));
  due[4].update = false;
  due[4].stalled = true;
  EXPECT_EQ(Moved(due), (Order{0, 1, 2, 3, 4}));
  due[4].stalled = false;
  due[0].preflight_waits = true;
  EXPECT_EQ(Moved(due), (Order{0, 4, 1, 2, 3}));
}

TEST(LargestFirst, LeavesFarOnesInPlace) {
  std::vector<PullCandidate> due = Sized({4, 4, 4, 4, 800});
  due[4].far = true;
  EXPECT_EQ(Moved(due), (Order{0, 1, 2, 3, 4}));
}

// An order by size would be another one for each image that ends.
TEST(LargestFirst, DoesNotSortWhatEndsInTimeAnyway) {
  std::vector<std::uint64_t> sizes(40, 10);
  for (std::size_t i = 0; i < sizes.size(); i++) sizes[i] += i;
  Order listed;
  for (std::size_t i = 0; i < sizes.size(); i++) listed.push_back(i);
  EXPECT_EQ(Moved(Sized(sizes)), listed);
}

TEST(LargestFirst, OnceHalfOfThemAreOver) {
  EXPECT_FALSE(MayReorder({.images = 29, .finished = 14, .running = 4}));
  EXPECT_TRUE(MayReorder({.images = 29, .finished = 15, .running = 4}));
  EXPECT_FALSE(NeedsSizes({.images = 29, .finished = 10, .running = 4}));
  EXPECT_TRUE(NeedsSizes({.images = 29, .finished = 11, .running = 4}));
  EXPECT_TRUE(MayReorder({.images = 28, .finished = 14, .running = 4})) << "exactly half";
  EXPECT_TRUE(NeedsSizes({.images = 28, .finished = 10, .running = 4})) << "exactly half";
  EXPECT_FALSE(MayReorder({.images = 1, .finished = 0, .running = 0}));
}

}  // namespace
}  // namespace prefetch::plan::schedule_test
