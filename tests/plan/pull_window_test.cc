#include "plan/desired.h"

#include <gtest/gtest.h>

#include <string>

namespace prefetch::plan::pull_window_test {
namespace {

using base::Rfc3339;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

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
}  // namespace prefetch::plan::pull_window_test
