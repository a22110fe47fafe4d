#include "plan/decide.h"

#include <gtest/gtest.h>

#include <string>

#include "plan/desired.h"
#include "plan/schedule.h"
#include "rows.h"

namespace prefetch::plan::decide_test {
namespace {

using base::Rfc3339;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

const base::TimePoint kNow{seconds(1000)};

Observation Unknown() {
  return {};
}
Observation Absent() {
  return {.known = true};
}
Observation Present(const std::string& id, bool runs_here = true) {
  return {.known = true, .local = Local{.id = id, .runs_here = runs_here}};
}
Observation Artifact(const std::string& id) {
  return {.known = true, .local = Local{.id = id, .artifact = true}};
}
History WaitsUntil(base::TimePoint until, Reason failed) {
  History past;
  past.not_before = until;
  past.last_failure = failed;
  return past;
}
Observation Packed(const std::string& id) {
  return {.known = true, .local = Local{.id = id, .unpacked = false}};
}
History Pulled(const std::string& id) {
  History past;
  past.pulled_id = id;
  return past;
}
Action Keep(Reason reason) {
  return {.kind = ActionKind::kKeep, .reason = reason};
}
Action Pull(Reason reason) {
  return {.kind = ActionKind::kPull, .reason = reason};
}
Action Wait(base::TimePoint until, Reason reason) {
  return {.kind = ActionKind::kWait, .reason = reason, .until = until};
}

struct DecideCase {
  std::string name;
  Observation seen;
  History past;
  Action expect;
};

TEST(DecideTest, Row) {
  const DecideCase rows[] = {
      {"NothingIsDoneBeforeTheFirstLook", Unknown(), {}, Wait(base::TimePoint::max(), Reason::kFactsUnknown)},
      {"AbsentIsPulled", Absent(), {}, Pull(Reason::kImageAbsent)},
      {"PresentIsKept", Present("a"), {}, Keep(Reason::kPresent)},
      {"PresentIsKeptWhateverFailedBefore", Present("a"),
       WaitsUntil(base::TimePoint::max(), Reason::kInvalidReference), Keep(Reason::kPresent)},
      {"BackOffIsRespected", Absent(), WaitsUntil(kNow + seconds(1), Reason::kUnreachable),
       Wait(kNow + seconds(1), Reason::kUnreachable)},
      {"BackOffEndsAtItsTime", Absent(), WaitsUntil(kNow, Reason::kUnreachable), Pull(Reason::kImageAbsent)},
      {"NeverIsUntilTheListChanges", Absent(), WaitsUntil(base::TimePoint::max(), Reason::kPlatformMismatch),
       Wait(base::TimePoint::max(), Reason::kPlatformMismatch)},
      {"SomebodyElsesWrongPlatformIsRepaired", Present("a", false), {}, Pull(Reason::kWrongPlatform)},
      {"OurOwnWrongPlatformIsWhatThereIs", Present("a", false), Pulled("a"), Keep(Reason::kWrongPlatform)},
      {"WrongPlatformThatCameAfterOursIsRepaired", Present("b", false), Pulled("a"),
       Pull(Reason::kWrongPlatform)},
      {"AnArtifactMayBecomeAnImage", Artifact("a"), {}, Pull(Reason::kNotAnImage)},
      {"AnArtifactIsNotPulledAgainAndAgain", Artifact("a"),
       WaitsUntil(kNow + seconds(1), Reason::kNotAnImage), Wait(kNow + seconds(1), Reason::kNotAnImage)},
      {"NotUnpackedIsPulledAgain", Packed("a"), Pulled("a"), Pull(Reason::kNotUnpacked)},
      {"NotUnpackedIsPulledWhoeverBroughtIt", Packed("a"), {}, Pull(Reason::kNotUnpacked)},
  };
  for (const DecideCase& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(Decide(row.seen, row.past, kNow), row.expect);
  }
}

TEST(SelectionOf, ByPlatform) {
  image::Platform amd64{.os = "linux", .architecture = "amd64"};
  DesiredImage desired;
  EXPECT_EQ(SelectionOf(desired, amd64, nullptr), Selection::kApplies);
  desired.nodes.platforms = {{.os = "linux", .architecture = "arm64"}};
  EXPECT_EQ(SelectionOf(desired, amd64, nullptr), Selection::kOtherPlatform);
  desired.nodes.platforms.push_back(amd64);
  EXPECT_EQ(SelectionOf(desired, amd64, nullptr), Selection::kApplies);
}

TEST(SelectionOf, ByLabels) {
  const image::Platform amd64{.os = "linux", .architecture = "amd64"};
  const image::NodeLabels gpu{{"pool", "gpu"}, {"zone", "a"}}, ci{{"pool", "ci"}}, none;
  DesiredImage desired;
  desired.nodes.node_selector = {{"pool", "gpu"}};
  EXPECT_EQ(SelectionOf(desired, amd64, &gpu), Selection::kApplies);
  EXPECT_EQ(SelectionOf(desired, amd64, &ci), Selection::kNotSelected);
  EXPECT_EQ(SelectionOf(desired, amd64, &none), Selection::kNotSelected);
  EXPECT_EQ(SelectionOf(desired, amd64, nullptr), Selection::kLabelsUnknown);
  desired.nodes.node_selector.emplace("zone", "b");
  EXPECT_EQ(SelectionOf(desired, amd64, &gpu), Selection::kNotSelected) << "all pairs count";
  desired.nodes.platforms = {{.os = "linux", .architecture = "arm64"}};
  EXPECT_EQ(SelectionOf(desired, amd64, nullptr), Selection::kOtherPlatform) << "whatever the labels are";
}

// Two sources name different pools.
TEST(SelectionOf, AnyScopeIsEnough) {
  const image::Platform amd64{.os = "linux", .architecture = "amd64"};
  const image::NodeLabels gpu{{"pool", "gpu"}}, ci{{"pool", "ci"}}, web{{"pool", "web"}};
  DesiredImage desired;
  desired.nodes.node_selector = gpu;
  desired.other_nodes = {{.platforms = {}, .node_selector = ci}};
  EXPECT_EQ(SelectionOf(desired, amd64, &gpu), Selection::kApplies);
  EXPECT_EQ(SelectionOf(desired, amd64, &ci), Selection::kApplies);
  EXPECT_EQ(SelectionOf(desired, amd64, &web), Selection::kNotSelected);
  EXPECT_EQ(SelectionOf(desired, amd64, nullptr), Selection::kLabelsUnknown);
  desired.other_nodes = {{.platforms = {amd64}, .node_selector = {}}};
  EXPECT_EQ(SelectionOf(desired, amd64, nullptr), Selection::kApplies) << "one scope needs no label";
}

RefreshDecision Moved() {
  return {.pull = true, .pull_reason = Reason::kTagMoved};
}

TEST(DecideWithARegistry, WhatHasChangedIsPulled) {
  EXPECT_EQ(Decide(Present("a"), {}, Moved(), kNow), Pull(Reason::kTagMoved));
}

TEST(DecideWithARegistry, BackOffIsRespected) {
  EXPECT_EQ(Decide(Present("a"), WaitsUntil(kNow + seconds(1), Reason::kUnreachable), Moved(), kNow),
            Wait(kNow + seconds(1), Reason::kUnreachable));
}

TEST(DecideWithARegistry, WhatIsAbsentIsPulledForThat) {
  EXPECT_EQ(Decide(Absent(), {}, Moved(), kNow), Pull(Reason::kImageAbsent));
}

Observation FoundByTag(const std::string& id) {
  Observation seen = Present(id);
  seen.local->found_by_tag = true;
  return seen;
}

TEST(DecideWithARegistry, ADigestThatATagBroughtIsPulledOnce) {
  EXPECT_EQ(Decide(FoundByTag("a"), {}, {}, kNow), Pull(Reason::kQueued));
  EXPECT_EQ(Decide(FoundByTag("a"), Pulled("b"), {}, kNow), Pull(Reason::kQueued));
  EXPECT_EQ(Decide(FoundByTag("a"), Pulled("a"), {}, kNow), Keep(Reason::kPresent));
  EXPECT_EQ(Decide(FoundByTag("a"), WaitsUntil(kNow + seconds(1), Reason::kNotFound), {}, kNow),
            Wait(kNow + seconds(1), Reason::kNotFound));
}

TEST(DecideWithARegistry, WhatIsCurrentIsKept) {
  EXPECT_EQ(Decide(Present("a"), {}, {}, kNow), Keep(Reason::kPresent));
}

// Nothing starts, and no back-off ends, before the window opens. The rest stays as it is.
TEST(AwaitWindow, HoldsWhatWouldStartBeforeItOpens) {
  const base::TimePoint opens = kNow + std::chrono::hours(3);
  const Action held = Wait(opens, Reason::kOutsidePullWindow);
  EXPECT_EQ(AwaitWindow({.kind = ActionKind::kPull, .reason = Reason::kImageAbsent}, opens), held);
  EXPECT_EQ(AwaitWindow(Wait(kNow + seconds(1), Reason::kNotFound), opens), held);
  for (const Action& as_it_is :
       {Keep(Reason::kPresent), Wait(opens, Reason::kNotFound), Wait(opens + seconds(1), Reason::kNotFound),
        Wait(base::TimePoint::max(), Reason::kFactsUnknown),
        Wait(base::TimePoint::max(), Reason::kInvalidReference)}) {
    EXPECT_EQ(AwaitWindow(as_it_is, opens), as_it_is);
  }
}

const base::TimePoint kLater = kNow + seconds(1);

struct StartRow {
  std::string name;
  StartFacts facts;
  StartDecision expect;
};

TEST_TABLE(JudgeStartTest, Row, StartRow) {
  const StartDecision decision = EvaluateStart(row.facts, kNow);
  EXPECT_EQ(decision.may_start, row.expect.may_start);
  EXPECT_EQ(decision.no_disk_space, row.expect.no_disk_space);
  EXPECT_EQ(decision.hold, row.expect.hold);
}

constexpr StartDecision kMay{.may_start = true};
constexpr StartDecision kMayNot{};

TEST_ROWS(
    , JudgeStartTest, {"NothingAgainstIt", {}, kMay},
    {"DoesNotFit", {.fits = false}, {.no_disk_space = true}},
    // Held, and among those that may: Schedule knows when the hold ends.
    {"DiskFull", {.disk_held_until = kLater}, {.may_start = true, .hold = Hold{Reason::kDiskFull, kLater}}},
    {"DiskFullNoMore", {.disk_held_until = kNow}, kMay},
    {"RegistryHeld",
     {.registry_held_until = kLater, .registry_failure = Reason::kRateLimited},
     {.may_start = true, .hold = Hold{Reason::kRateLimited, kLater}}},
    {"RegistryHeldNoMore", {.registry_held_until = kNow}, kMay},
    {"OfBothTheRegistryIsTold",
     {.disk_held_until = kLater, .registry_held_until = kLater, .registry_failure = Reason::kDnsFailure},
     {.may_start = true, .hold = Hold{Reason::kDnsFailure, kLater}}},
    {"WithoutRoomAndHeld",
     {.fits = false, .disk_held_until = kLater},
     {.no_disk_space = true, .hold = Hold{Reason::kDiskFull, kLater}}},
    {"AnUpdateNobodyWaitsForIsSpared", {.update = true, .ready = true, .updates_wait = true}, kMayNot},
    {"PullsAreNotSaved", {.update = true, .ready = true}, kMay},
    {"AnUpdateForReadiness", {.update = true, .updates_wait = true}, kMay},
    {"WhatIsMissingIsNotSpared", {.ready = true, .updates_wait = true}, kMay},
    {"AnUpdateThatIsAskedFor",
     {.preflight_waits = true, .update = true, .ready = true, .updates_wait = true},
     kMay},
    {"BeforeTheFirst", {.first_at = kLater}, kMayNot}, {"AtTheFirst", {.first_at = kNow}, kMay},
    {"AskedForBeforeTheFirst", {.preflight_waits = true, .first_at = kLater}, kMay},
    {"TriedBefore", {.tried_before = true, .first_at = kLater}, kMay},
    {"ItsLeaseIsLeaving", {.lease_being_deleted = true}, kMayNot});

TEST(IsDueSoon, OfWhatWaitsAndIsMissing) {
  const Action soon{ActionKind::kWait, Reason::kUnreachable, kNow + kSoonDue};
  const Action later{ActionKind::kWait, Reason::kUnreachable, kNow + kSoonDue + seconds(1)};
  EXPECT_TRUE(IsDueSoon(soon, false, kNow));
  EXPECT_FALSE(IsDueSoon(soon, true, kNow));
  EXPECT_FALSE(IsDueSoon(later, false, kNow));
  EXPECT_FALSE(IsDueSoon({ActionKind::kPull, Reason::kImageAbsent, kNow}, false, kNow));
}

const base::TimePoint kWindowTurnNow{std::chrono::seconds(1000)};

// Times in minutes from now.
struct WindowRow {
  std::string name;
  bool open = true;
  int changes = 600;
  int delay = 10;
  int last_opens = 0;  // 0: the window was open
  int last_until = 0;  // 0: the last action was no wait for a window
  int waits = 0;       // the expected wait; 0: the pull starts
  int opens = 0;       // as expected; 0: open
};
TEST_TABLE(DecideByWindowTest, Row, WindowRow) {
  const base::WallTime wall = base::WallTime() + std::chrono::hours(9);
  const auto told = [&](int at) {
    return at == 0 ? std::nullopt : std::optional<base::WallTime>(wall + minutes(at));
  };
  const Action pull{.kind = ActionKind::kPull, .reason = Reason::kImageAbsent};
  const auto wait = [](int at) {
    return Action{.kind = ActionKind::kWait,
                  .reason = Reason::kOutsidePullWindow,
                  .until = kWindowTurnNow + minutes(at)};
  };
  const WindowFacts facts{.window = {.state = {.open = row.open, .changes_at = wall + minutes(row.changes)},
                                     .changes_at = kWindowTurnNow + minutes(row.changes)},
                          .delay = minutes(row.delay),
                          .last = row.last_until == 0 ? pull : wait(row.last_until),
                          .last_opens = told(row.last_opens)};
  const WindowDecision decided = DecideByWindow(pull, facts, kWindowTurnNow, wall);
  EXPECT_EQ(decided.action, row.waits == 0 ? pull : wait(row.waits));
  EXPECT_EQ(decided.opens, told(row.opens));
}
TEST_ROWS(Rows, DecideByWindowTest, {.name = "Open"},
          {.name = "Closed", .open = false, .changes = 60, .waits = 70, .opens = 70},
          {.name = "ClosedForAllNodes", .open = false, .changes = 60, .delay = 0, .waits = 60, .opens = 60},
          {.name = "OpenedAndNotItsTurn", .last_opens = 4, .last_until = 4, .waits = 4, .opens = 4},
          {.name = "ItsTurn", .last_opens = -1, .last_until = -1},
          // The monotonic clock decides, and the two clocks drift.
          {.name = "ItsTurnByTheMonotonicClock", .last_opens = 4, .last_until = -1},
          {.name = "FailedMeanwhile", .last_opens = 4, .waits = 4, .opens = 4},
          // A new list has other windows, which are open.
          {.name = "OtherWindows", .last_opens = 60, .last_until = 60});

base::WallTime At(unsigned year, unsigned month, unsigned day, int hour, int minute = 0, int second = 0) {
  return std::chrono::sys_days(std::chrono::year(static_cast<int>(year)) / static_cast<int>(month) /
                               static_cast<int>(day)) +
         hours(hour) + minutes(minute) + seconds(second);
}

PullWindow Window(minutes start, minutes end, const char* zone = "UTC", unsigned days = kEveryDay) {
  return {.start = start, .end = end, .days = days, .zone = *base::TimeZone::Find(zone)};
}

// "open until 2026-…" or "opens 2026-…".
std::string Told(const WindowState& state) {
  return (state.open ? "open until " : "opens ") + Rfc3339(state.changes_at);
}

constexpr unsigned kMonday = 1, kFriday = 16, kSaturday = 32, kSunday = 64;

TEST(PullWindow, OverMidnight) {
  const PullWindow night = Window(hours(22), hours(6));
  EXPECT_EQ(Told(StateOf(night, At(2026, 11, 27, 21, 59, 59))), "opens 2026-11-27T22:00:00Z");
  EXPECT_EQ(Told(StateOf(night, At(2026, 11, 27, 22))), "open until 2026-11-28T06:00:00Z");
  EXPECT_EQ(Told(StateOf(night, At(2026, 11, 28, 5, 59, 59))), "open until 2026-11-28T06:00:00Z");
  EXPECT_EQ(Told(StateOf(night, At(2026, 11, 28, 6))), "opens 2026-11-28T22:00:00Z");
}

TEST(PullWindow, OfOneDay) {
  const PullWindow noon = Window(hours(12), hours(13) + minutes(30));
  EXPECT_EQ(Told(StateOf(noon, At(2026, 11, 27, 11))), "opens 2026-11-27T12:00:00Z");
  EXPECT_EQ(Told(StateOf(noon, At(2026, 11, 27, 13, 29))), "open until 2026-11-27T13:30:00Z");
  EXPECT_EQ(Told(StateOf(noon, At(2026, 11, 27, 13, 30))), "opens 2026-11-28T12:00:00Z");
}

TEST(PullWindow, Length) {
  EXPECT_EQ(LengthOf(Window(hours(22), hours(6))), hours(8));
  EXPECT_EQ(LengthOf(Window(hours(12), hours(13) + minutes(30))), minutes(90));
  EXPECT_EQ(LengthOf(Window(hours(0), hours(24))), hours(24));
}

TEST(PullWindow, DelayOfItsOpening) {
  const std::vector<PullWindow> night = {Window(hours(22), hours(6))};
  EXPECT_EQ(DelayOfOpening(night, minutes(10), 0), seconds(0));
  EXPECT_EQ(DelayOfOpening(night, minutes(10), 0.5), minutes(5));
  EXPECT_EQ(DelayOfOpening(night, seconds(0), 0.5), seconds(0));
  // Half of the shortest window, and a fleet is spread over all of that.
  const std::vector<PullWindow> both = {night[0], Window(hours(12), hours(13))};
  EXPECT_EQ(DelayOfOpening(both, hours(2), 1), minutes(30));
  EXPECT_EQ(DelayOfOpening(both, hours(2), 0.5), minutes(15));
}

// A window belongs to the day on which it starts: Friday's night ends on Saturday.
TEST(PullWindow, Days) {
  const PullWindow friday = Window(hours(22), hours(6), "UTC", kFriday);
  EXPECT_EQ(Told(StateOf(friday, At(2026, 11, 27, 23))), "open until 2026-11-28T06:00:00Z");
  EXPECT_EQ(Told(StateOf(friday, At(2026, 11, 28, 5))), "open until 2026-11-28T06:00:00Z");
  EXPECT_EQ(Told(StateOf(friday, At(2026, 11, 28, 23))), "opens 2026-12-04T22:00:00Z");
  EXPECT_EQ(Told(StateOf(friday, At(2026, 11, 27, 5))), "opens 2026-11-27T22:00:00Z");
  // Two whole days follow each other without a gap.
  const PullWindow weekend = Window(hours(0), hours(24), "UTC", kSaturday | kSunday);
  EXPECT_EQ(Told(StateOf(weekend, At(2026, 11, 28, 12))), "open until 2026-11-30T00:00:00Z");
  EXPECT_EQ(StateOf(Window(hours(0), hours(24)), At(2026, 11, 28, 12)), WindowState());
}

// In Berlin the clock goes from 2:00 to 3:00 on 28 March 2027, and from 3:00 to 2:00 on 31 October 2027.
TEST(PullWindow, SummerTimeBegins) {
  const PullWindow night = Window(hours(22), hours(6), "Europe/Berlin");
  EXPECT_EQ(Told(StateOf(night, At(2027, 3, 27, 20))), "opens 2027-03-27T21:00:00Z");
  EXPECT_EQ(Told(StateOf(night, At(2027, 3, 27, 21))), "open until 2027-03-28T04:00:00Z") << "an hour less";
  EXPECT_EQ(Told(StateOf(night, At(2027, 3, 28, 4))), "opens 2027-03-28T20:00:00Z");
  // Half past two does not exist: the window opens with the jump.
  const PullWindow half = Window(hours(2) + minutes(30), hours(4), "Europe/Berlin");
  EXPECT_EQ(Told(StateOf(half, At(2027, 3, 28, 0))), "opens 2027-03-28T01:00:00Z");
  EXPECT_EQ(Told(StateOf(half, At(2027, 3, 28, 1))), "open until 2027-03-28T02:00:00Z");
  // A window inside of the skipped hour stays closed that day.
  const PullWindow skipped = Window(hours(2), hours(3), "Europe/Berlin");
  EXPECT_EQ(Told(StateOf(skipped, At(2027, 3, 28, 0))), "opens 2027-03-29T00:00:00Z");
  const PullWindow sundays = Window(hours(2), hours(3), "Europe/Berlin", kSunday);
  EXPECT_EQ(Told(StateOf(sundays, At(2027, 3, 22, 0))), "opens 2027-04-04T00:00:00Z");
}

TEST(PullWindow, SummerTimeEnds) {
  const PullWindow night = Window(hours(22), hours(6), "Europe/Berlin");
  EXPECT_EQ(Told(StateOf(night, At(2027, 10, 30, 20))), "open until 2027-10-31T05:00:00Z") << "an hour more";
  EXPECT_EQ(Told(StateOf(night, At(2027, 10, 31, 5))), "opens 2027-10-31T21:00:00Z");
  // The hour from two to three comes twice, and so does the second half of it.
  const PullWindow half = Window(hours(2) + minutes(30), hours(3), "Europe/Berlin");
  EXPECT_EQ(Told(StateOf(half, At(2027, 10, 31, 0))), "opens 2027-10-31T00:30:00Z");
  EXPECT_EQ(Told(StateOf(half, At(2027, 10, 31, 0, 30))), "open until 2027-10-31T01:00:00Z");
  EXPECT_EQ(Told(StateOf(half, At(2027, 10, 31, 1))), "opens 2027-10-31T01:30:00Z");
  EXPECT_EQ(Told(StateOf(half, At(2027, 10, 31, 1, 30))), "open until 2027-10-31T02:00:00Z");
}

TEST(PullWindow, FarFromUtc) {
  const PullWindow kiritimati = Window(hours(1), hours(2), "Pacific/Kiritimati", kMonday);  // UTC+14
  EXPECT_EQ(Told(StateOf(kiritimati, At(2026, 11, 27, 0))), "opens 2026-11-29T11:00:00Z");
  const PullWindow niue = Window(hours(23), hours(1), "Pacific/Niue", kMonday);  // UTC-11
  EXPECT_EQ(Told(StateOf(niue, At(2026, 11, 27, 0))), "opens 2026-12-01T10:00:00Z");
}

TEST(PullWindow, SeveralAreOpenWhileOneIs) {
  EXPECT_EQ(StateOf(std::vector<PullWindow>{}, At(2026, 11, 27, 0)), WindowState());
  const std::vector<PullWindow> both = {Window(hours(22), hours(2)), Window(hours(1), hours(6))};
  EXPECT_EQ(Told(StateOf(both, At(2026, 11, 27, 12))), "opens 2026-11-27T22:00:00Z");
  EXPECT_EQ(Told(StateOf(both, At(2026, 11, 27, 23))), "open until 2026-11-28T06:00:00Z");
  const std::vector<PullWindow> all = {Window(hours(22), hours(10)), Window(hours(10), hours(22))};
  EXPECT_TRUE(StateOf(all, At(2026, 11, 27, 12)).open);
}

TEST(PullWindow, Text) {
  EXPECT_EQ(TextOf(Window(hours(22), hours(6) + minutes(5), "Europe/Berlin")),
            "22:00 to 06:05 Europe/Berlin");
  EXPECT_EQ(TextOf(Window(hours(0), hours(24), "UTC", kMonday | kSunday)), "00:00 to 24:00 UTC, Mon Sun");
}

// The two clocks of a machine drift. The time at which the loop wakes must not change with every turn.
TEST(WindowStates, StayAsTheyAreUntilTheNextChange) {
  const std::vector<PullWindow> night = {Window(hours(22), hours(6))};
  WindowStates states;
  const base::TimePoint now{hours(1)};
  const base::WallTime wall = At(2026, 11, 27, 21);
  const base::TimePoint opens = states.At(night, now, wall).changes_at;
  EXPECT_EQ(opens, now + hours(1));
  EXPECT_EQ(states.At(night, now + minutes(1), wall + minutes(1) + milliseconds(3)).changes_at, opens);
  // The clock was set by an hour.
  EXPECT_TRUE(states.At(night, now + minutes(2), wall + minutes(62)).state.open);
  EXPECT_FALSE(states.At(night, now + minutes(3), wall + minutes(3)).state.open);
  EXPECT_EQ(states.At(night, now + minutes(3), wall + minutes(3)).changes_at, opens);
  // The wall clock is a moment behind: the loop wakes once more.
  const WindowStates::Known& late = states.At(night, opens, wall + hours(1) - milliseconds(2));
  EXPECT_FALSE(late.state.open);
  EXPECT_EQ(late.changes_at, opens + milliseconds(2));
  EXPECT_TRUE(states.At(night, opens + milliseconds(2), wall + hours(1)).state.open);
}

}  // namespace
}  // namespace prefetch::plan::decide_test
