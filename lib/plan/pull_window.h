// PullWindow: the hours in which pulls of an entry may start. Pure.
//
// Operators know the form from kured: a start, an end, weekdays, a time zone. Cron lines with a duration
// (Argo CD's sync windows) say more than anybody asks of nights and weekends, and are easily misread.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/time_zone.h"

namespace prefetch::plan {

inline constexpr std::array<const char*, 7> kDayNames = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
inline constexpr unsigned kEveryDay = 0x7f;

struct PullWindow {
  // On the zone's clock. An end before the start is on the next day. They differ.
  std::chrono::minutes start{0};
  std::chrono::minutes end{24 * 60};
  unsigned days = kEveryDay;  // on which it starts; bit 0 is Monday
  base::TimeZone zone;

  friend auto operator<=>(const PullWindow&, const PullWindow&) = default;
};

struct WindowState {
  bool open = true;
  base::WallTime changes_at = base::WallTime::max();  // it opens or closes; max(): never

  friend bool operator==(const WindowState&, const WindowState&) = default;
};

// The window is open while the clock of its zone shows a time in it. So an hour that summer time skips is not
// in it, and one that is repeated counts twice.
WindowState StateOf(const PullWindow& window, base::WallTime now);
// Several are open while one of them is. Without any, pulls may start at any time.
WindowState StateOf(const std::vector<PullWindow>& windows, base::WallTime now);

std::chrono::minutes LengthOf(const PullWindow& window);
// The longest time in a week in which none of `windows` is open, as the zones' clocks are in winter.
std::chrono::minutes LongestClosed(const std::vector<PullWindow>& windows);
// The part of `jitter` by which a node with this `fraction` (0 to 1) pulls after the windows open: a fleet
// must not ask its registry in one second. At most half of the shortest window is lost.
base::Duration DelayOfOpening(const std::vector<PullWindow>& windows, std::chrono::seconds jitter,
                              double fraction);

// "22:00 to 06:00 Europe/Berlin, Mon Tue Wed Thu Fri".
std::string TextOf(const PullWindow& window);
std::string TimeOfDay(std::chrono::minutes of_day);  // "22:00"

// The states of all windows of a list, computed anew only when one changes. Not thread-safe.
class WindowStates {
 public:
  struct Known {
    WindowState state;
    base::TimePoint changes_at;  // state.changes_at on the monotonic clock
  };
  // The reference is valid until the next call.
  const Known& At(const std::vector<PullWindow>& windows, base::TimePoint now, base::WallTime wall);
  void Forget() { known_.clear(); }

 private:
  std::map<std::vector<PullWindow>, Known> known_;
};

}  // namespace prefetch::plan
