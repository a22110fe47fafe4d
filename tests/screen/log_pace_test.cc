#include "screen/log_pace.h"

#include <gtest/gtest.h>

#include <vector>

namespace prefetch::screen::log_pace_test {
namespace {

using std::chrono::seconds;

// What is said of looks at these times, each with a key: the times of the lines.
struct Look {
  int at;
  std::string key;
};
struct PaceCase {
  std::string name;
  bool delay_first_line;
  std::vector<Look> looks;
  std::vector<int> lines;
};
class LogPaceTest : public testing::TestWithParam<PaceCase> {};

TEST_P(LogPaceTest, SaysALine) {
  const base::TimePoint start{seconds(1000)};
  LogPace pace(start, GetParam().delay_first_line);
  std::vector<int> lines;
  for (const Look& look : GetParam().looks) {
    if (pace.ShouldLog(look.key, start + seconds(look.at))) lines.push_back(look.at);
  }
  EXPECT_EQ(lines, GetParam().lines);
}

INSTANTIATE_TEST_SUITE_P(
    All, LogPaceTest,
    testing::Values(
        PaceCase{"AtOnce", false, {{0, "a"}, {1, "a"}}, {0}},
        PaceCase{"EveryHalfMinuteThoughNothingChanges",
                 false,
                 {{0, "a"}, {29, "a"}, {30, "a"}, {59, "a"}, {60, "a"}},
                 {0, 30, 60}},
        PaceCase{"AChangeSoon", false, {{0, "a"}, {4, "b"}, {5, "b"}, {6, "c"}, {10, "c"}}, {0, 5, 10}},
        PaceCase{"AChangeBackIsNone", false, {{0, "a"}, {3, "b"}, {6, "a"}, {30, "a"}}, {0, 30}},
        PaceCase{"AChangeBeginsTheHalfMinuteAnew",
                 false,
                 {{0, "a"}, {20, "b"}, {30, "b"}, {50, "b"}},
                 {0, 20, 50}},
        PaceCase{"NothingOfShortWork", true, {{0, "a"}, {4, "b"}}, {}},
        PaceCase{"LongWorkFromItsFirstChange",
                 true,
                 {{0, "a"}, {5, "a"}, {6, "b"}},
                 {
                     5,
                 }}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::screen::log_pace_test
