// The turn of this node in the pull windows of an entry. Pure.
#pragma once

#include <optional>

#include "base/clock.h"
#include "plan/decide.h"
#include "plan/pull_window.h"

namespace prefetch::plan {

// An entry whose pulls start in windows only, and this node's turn in them.
struct WindowFacts {
  WindowStates::Known window;                // of its windows
  base::Duration delay{};                    // by which this node pulls after the opening
  Action last;                               // the entry's action of the last turn
  std::optional<base::WallTime> last_opens;  // likewise
};
struct WindowDecision {
  Action action;
  std::optional<base::WallTime> opens;  // with the node's delay; none: open

  friend bool operator==(const WindowDecision&, const WindowDecision&) = default;
};
WindowDecision DecideByWindow(const Action& action, const WindowFacts& facts, base::TimePoint now,
                              base::WallTime wall);

}  // namespace prefetch::plan
