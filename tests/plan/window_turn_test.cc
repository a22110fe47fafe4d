#include "plan/decide.h"

#include <gtest/gtest.h>

#include <string>

namespace prefetch::plan::window_turn_test {
namespace {

using std::chrono::minutes;
const base::TimePoint kNow{std::chrono::seconds(1000)};

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
class DecideByWindowTest : public testing::TestWithParam<WindowRow> {};

TEST_P(DecideByWindowTest, Row) {
  const WindowRow& row = GetParam();
  const base::WallTime wall = base::WallTime() + std::chrono::hours(9);
  const auto told = [&](int at) {
    return at == 0 ? std::nullopt : std::optional<base::WallTime>(wall + minutes(at));
  };
  const Action pull{.kind = ActionKind::kPull, .reason = Reason::kImageAbsent};
  const auto wait = [](int at) {
    return Action{
        .kind = ActionKind::kWait, .reason = Reason::kOutsidePullWindow, .until = kNow + minutes(at)};
  };
  const WindowFacts facts{.window = {.state = {.open = row.open, .changes_at = wall + minutes(row.changes)},
                                     .changes_at = kNow + minutes(row.changes)},
                          .delay = minutes(row.delay),
                          .last = row.last_until == 0 ? pull : wait(row.last_until),
                          .last_opens = told(row.last_opens)};
  const WindowDecision decided = DecideByWindow(pull, facts, kNow, wall);
  EXPECT_EQ(decided.action, row.waits == 0 ? pull : wait(row.waits));
  EXPECT_EQ(decided.opens, told(row.opens));
}
INSTANTIATE_TEST_SUITE_P(
    Rows, DecideByWindowTest,
    testing::Values(
        WindowRow{.name = "Open"},
        WindowRow{.name = "Closed", .open = false, .changes = 60, .waits = 70, .opens = 70},
        WindowRow{
            .name = "ClosedForAllNodes", .open = false, .changes = 60, .delay = 0, .waits = 60, .opens = 60},
        WindowRow{.name = "OpenedAndNotItsTurn", .last_opens = 4, .last_until = 4, .waits = 4, .opens = 4},
        WindowRow{.name = "ItsTurn", .last_opens = -1, .last_until = -1},
        // The monotonic clock decides, and the two clocks drift.
        WindowRow{.name = "ItsTurnByTheMonotonicClock", .last_opens = 4, .last_until = -1},
        WindowRow{.name = "FailedMeanwhile", .last_opens = 4, .waits = 4, .opens = 4},
        // A new list has other windows, which are open.
        WindowRow{.name = "OtherWindows", .last_opens = 60, .last_until = 60}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::plan::window_turn_test
