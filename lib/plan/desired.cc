#include "plan/desired.h"

#include <algorithm>
#include <set>
#include <utility>

namespace prefetch::plan {

namespace {

using std::chrono::days;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::sys_seconds;

constexpr minutes kDay{24 * 60};
// A window of one weekday may fall into an hour that summer time skips, and opens a week later.
constexpr int kDaysAhead = 16;
// Maximum number of changes of single windows between two changes of all together.
constexpr int kMostSteps = 100;

bool StartsOn(const PullWindow& window, sys_days day) {
  return (window.days >> (std::chrono::weekday(day).iso_encoding() - 1) & 1U) != 0;
}

bool IsOpen(const PullWindow& window, sys_seconds at) {
  const sys_seconds local = at + window.zone.OffsetAt(at);
  const sys_days today = std::chrono::floor<days>(local);
  const seconds of_day = local - today;
  if (window.start < window.end) {
    return of_day >= window.start && of_day < window.end && StartsOn(window, today);
  }
  return (of_day >= window.start && StartsOn(window, today)) ||
         (of_day < window.end && StartsOn(window, today - days(1)));
}

// Returns all instants near which the clock of the zone shows this time: one, two if the hour is repeated,
// and harmless others around a change.
void AddInstants(const PullWindow& window, sys_seconds local, std::set<sys_seconds>& instants) {
  for (days around : {days(-1), days(1)}) instants.insert(local - window.zone.OffsetAt(local + around));
}

}  // namespace

WindowState StateOf(const PullWindow& window, base::WallTime now) {
  const sys_seconds at = std::chrono::floor<seconds>(now);
  WindowState state{.open = IsOpen(window, at)};
  const sys_days today = std::chrono::floor<days>(at);
  std::set<sys_seconds> instants;
  for (int day = -2; day <= kDaysAhead; day++) {
    AddInstants(window, today + days(day) + window.start, instants);
    AddInstants(window, today + days(day) + window.end, instants);
  }
  // The clock also jumps into the window, or out of it.
  if (std::optional<sys_seconds> change = window.zone.NextChange(at)) instants.insert(*change);
  for (auto next = instants.upper_bound(at); next != instants.end(); ++next) {
    if (IsOpen(window, *next) == state.open) continue;
    state.changes_at = *next;
    break;
  }
  return state;
}

WindowState StateOf(const std::vector<PullWindow>& windows, base::WallTime now) {
  if (windows.empty()) return {};
  WindowState all{.open = false};
  base::WallTime at = now;
  for (int step = 0; step < kMostSteps; step++) {
    WindowState here{.open = false};
    for (const PullWindow& window : windows) {
      const WindowState one = StateOf(window, at);
      here.open = here.open || one.open;
      here.changes_at = std::min(here.changes_at, one.changes_at);
    }
    if (step == 0) all.open = here.open;
    if (here.open != all.open) break;
    at = all.changes_at = here.changes_at;
    if (at == base::WallTime::max()) break;
  }
  return all;
}

minutes LengthOf(const PullWindow& window) {
  return window.start < window.end ? window.end - window.start : window.end + kDay - window.start;
}

minutes LongestClosed(const std::vector<PullWindow>& windows) {
  constexpr minutes kWeek = 7 * kDay;
  const sys_seconds winter = sys_days(std::chrono::year(2026) / 1 / 1);
  std::vector<std::pair<minutes, minutes>> open;  // minutes of a week of UTC
  minutes until = minutes::min();
  for (const PullWindow& window : windows) {
    const auto offset = std::chrono::duration_cast<minutes>(window.zone.OffsetAt(winter));
    for (int day = 0; day < 7; day++) {
      if ((window.days >> day & 1U) == 0) continue;
      const minutes start = (day * kDay + window.start - offset + kWeek) % kWeek;
      open.emplace_back(start, start + LengthOf(window));
      until = std::max(until, open.back().second - kWeek);
    }
  }
  std::sort(open.begin(), open.end());
  minutes longest{0};
  for (const auto& [start, end] : open) {
    longest = std::max(longest, start - until);
    until = std::max(until, end);
  }
  return longest;
}

base::Duration DelayOfOpening(const std::vector<PullWindow>& windows, seconds jitter, double fraction) {
  // The spread is cut, and not the single delay: all delays that are cut to one value would be one second.
  seconds spread = jitter;
  for (const PullWindow& window : windows) spread = std::min<seconds>(spread, seconds(LengthOf(window)) / 2);
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(spread) * fraction);
}

std::string TimeOfDay(minutes of_day) {
  const auto hour = of_day.count() / 60, minute = of_day.count() % 60;
  std::string text = hour < 10 ? "0" : "";
  text += std::to_string(hour) + (minute < 10 ? ":0" : ":") + std::to_string(minute);
  return text;
}

std::string TextOf(const PullWindow& window) {
  std::string text = TimeOfDay(window.start) + " to " + TimeOfDay(window.end) + " ";
  text += window.zone.name();
  if (window.days == kEveryDay) return text;
  text += ",";
  for (unsigned bit = 0; bit < kDayNames.size(); bit++) {
    if ((window.days >> bit & 1U) != 0) text += " " + std::string(kDayNames[bit]);
  }
  return text;
}

const WindowStates::Known& WindowStates::At(const std::vector<PullWindow>& windows, base::TimePoint now,
                                            base::WallTime wall) {
  auto monotonic = [&](base::WallTime at) {
    return at == base::WallTime::max() ? base::TimePoint::max()
                                       : now + std::chrono::duration_cast<base::Duration>(at - wall);
  };
  auto [known, is_new] = known_.try_emplace(windows);
  Known& state = known->second;
  // The two clocks drift, so a time that is computed in each turn would be news in each turn. Only a clock
  // that was set, or a change that is due, moves it.
  const bool was_set = state.state.changes_at != base::WallTime::max() &&
                       std::chrono::abs(monotonic(state.state.changes_at) - state.changes_at) > seconds(1);
  if (is_new || was_set || now >= state.changes_at) {
    state.state = StateOf(windows, wall);
    state.changes_at = monotonic(state.state.changes_at);
  }
  return state;
}

}  // namespace prefetch::plan
