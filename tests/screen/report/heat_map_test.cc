// Images × nodes, as few rows and columns.
#include "screen/report/report.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/text.h"
#include "rows.h"
#include "screen/report/fleets.h"

namespace prefetch::screen::report::heat_map_test {
namespace {

// One line a row: its image, and its letters.
std::string Drawn(const Report& report) {
  const HeatMap map = MakeHeatMap(report);
  const std::vector<std::string> letters = Letters(report.states);
  std::string text;
  for (const HeatMap::Row& row : map.rows) {
    for (std::uint32_t state : row.states) text += letters[state];
    text += " " + report.images[row.image] + "\n";
  }
  return text;
}

plan::ImageState Here(const std::string& name) {
  return sample::Ready(name, 1);
}
plan::ImageState Absent(const std::string& name) {
  return sample::Failing(name, plan::Reason::kNotFound, "no such tag", 1);
}

TEST(HeatMap, NodesThatAreAlikeShareAColumnAndTheWorstComeFirst) {
  const Report report =
      ReportOf({{"a", Documented({Here("q.io/x:1"), Here("q.io/y:1"), Here("q.io/z:1")})},
                {"b", Documented({Here("q.io/x:1"), Absent("q.io/y:1"), Here("q.io/z:1")})},
                {"c", Documented({Here("q.io/x:1"), Here("q.io/y:1"), Here("q.io/z:1")})},
                {"d", Documented({Here("q.io/x:1"), Absent("q.io/y:1"), Absent("q.io/z:1")})}});
  EXPECT_EQ(Drawn(report), "NN✓ q.io/y:1\nN✓✓ q.io/z:1\n");
  const HeatMap map = MakeHeatMap(report);
  ASSERT_EQ(map.columns.size(), 3U);
  EXPECT_EQ(map.columns[0].nodes, (std::vector<std::uint32_t>{3}));
  EXPECT_EQ(map.columns[2].nodes, (std::vector<std::uint32_t>{0, 2}));
  ASSERT_EQ(map.uniform.size(), 1U);
  EXPECT_EQ(map.uniform[0].images, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(map.rows[0].not_ready, 2U);
  EXPECT_EQ(map.rows[0].listed, 4U);
}

TEST(HeatMap, AnImageThatIsAlikeWhereItIsListedIsNoRow) {
  const Report report =
      ReportOf({{"a", Documented({Here("q.io/x:1")})}, {"b", Documented({Absent("q.io/y:1")})}});
  EXPECT_EQ(Drawn(report), "");
  EXPECT_EQ(MakeHeatMap(report).uniform.size(), 2U);
}

TEST(HeatMap, NodesThatWereNotHeardHaveNoColumn) {
  const Report report =
      ReportOf({{"a", Documented({Here("q.io/x:1")})}, {"b", Documented({Absent("q.io/x:1")})}},
               {NodeWithoutDetail("c", {})});
  EXPECT_EQ(Drawn(report), "N✓ q.io/x:1\n");
  EXPECT_EQ(MakeHeatMap(report).answered, 2U);
}

TEST(HeatMap, EveryCellOfALargeFleetIsInIt) {
  const Report report = LargeFleet(60, 30, 300);
  const HeatMap map = MakeHeatMap(report);
  std::set<std::uint32_t> nodes;
  for (std::size_t c = 0; c < map.columns.size(); c++) {
    for (std::uint32_t node : map.columns[c].nodes) {
      EXPECT_TRUE(nodes.insert(node).second);
      std::map<std::uint32_t, std::uint32_t> states;
      for (const Cell& cell : report.nodes[node].cells) states[cell.image] = cell.state;
      for (const HeatMap::Row& row : map.rows) EXPECT_EQ(row.states[c], states.at(row.image));
    }
  }
  EXPECT_EQ(nodes.size(), 60U);
  EXPECT_EQ(map.rows.size(), 30U);
}

struct LettersCase {
  std::string name;
  std::vector<ImageState> states;
  std::string letters;
};
TEST_TABLE(LettersTest, AreDifferentAndKnown, LettersCase) {
  EXPECT_EQ(base::Join(Letters(row.states), " "), row.letters);
}

TEST_ROWS(Rows, LettersTest,
          {"OfTheWord",
           {{Tone::kFailing, "AccessDenied"}, {Tone::kProgressing, "Pulling"}, {Tone::kOptional, "NotFound"}},
           "D P n"},
          {"TheNextLetterOfTheWord",
           {{Tone::kFailing, "AccessDenied"}, {Tone::kFailing, "DiskFull"}, {Tone::kFailing, "DiskFault"}},
           "D I S"},
          {"ReadyOnes",
           {{Tone::kStale, "TagMoved"}, {Tone::kStale, "TagMissing"}, {Tone::kReady, ""}, {}},
           "1 2 ✓ ·"},
          {"NoLetters", {{Tone::kFailing, "<>"}, {Tone::kFailing, "1"}}, "A B"});

std::vector<ImageState> FailingFor(std::size_t reasons) {
  std::vector<ImageState> states;
  for (std::size_t i = 0; i < reasons; i++) states.push_back({Tone::kFailing, "Odd" + std::string(i, 'o')});
  return states;
}

// Legend and filter use letters, so two states must not share one; the script takes one UTF-16 unit for each.
TEST(LettersTest, AreDifferentBeyondTheAlphabet) {
  const std::vector<std::string> letters = Letters(FailingFor(138));
  EXPECT_EQ(std::set<std::string>(letters.begin(), letters.end()).size(), 138U);
  EXPECT_EQ(letters[26], "Ⓐ");
  EXPECT_EQ(letters[137], "㊿");
  for (const std::string& letter : letters) EXPECT_LE(letter.size(), 3U) << letter;
}

TEST(LettersTest, RunOutAtLast) {
  EXPECT_EQ(Letters(FailingFor(139)).back(), "?");
}

}  // namespace
}  // namespace prefetch::screen::report::heat_map_test
