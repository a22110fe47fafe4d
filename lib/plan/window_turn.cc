#include "plan/window_turn.h"

#include <chrono>

namespace prefetch::plan {

WindowDecision DecideByWindow(const Action& action, const WindowFacts& facts, base::TimePoint now,
                              base::WallTime wall) {
  // Every window that is closed opens within two weeks.
  if (!facts.window.state.open) {
    return {.action = AwaitWindow(action, facts.window.changes_at + facts.delay),
            .opens = facts.window.state.changes_at + facts.delay};
  }
  // The window may have just opened, and the turn of this node has not come. A later time is that of other
  // windows. One time is kept from turn to turn, and a second is no difference: see WindowStates.
  const std::optional<base::WallTime>& opens = facts.last_opens;
  const bool is_its_turn = !opens || *opens <= wall || *opens - wall > facts.delay + std::chrono::seconds(1);
  if (is_its_turn) return {.action = action, .opens = std::nullopt};
  const base::TimePoint until = facts.last.reason == Reason::kOutsidePullWindow
                                    ? facts.last.until
                                    : now + std::chrono::duration_cast<base::Duration>(*opens - wall);
  if (until <= now) return {.action = action, .opens = std::nullopt};
  return {.action = AwaitWindow(action, until), .opens = opens};
}

}  // namespace prefetch::plan
