#include "doc/problems.h"

#include <gtest/gtest.h>

#include "doc/json.h"
#include "doc/yaml.h"

namespace prefetch::doc::columns_test {
namespace {

TEST(Columns, CountCharacters) {
  const std::string text = "aé日😀b\n\nxé y\n";
  struct Case {
    Position bytes, characters;
  };
  // In this order, and then from behind: who asks back and forth hears the same.
  const std::vector<Case> cases = {{{1, 1}, {1, 1}},  {{1, 2}, {1, 2}}, {{1, 4}, {1, 3}}, {{1, 7}, {1, 4}},
                                   {{1, 11}, {1, 5}}, {{2, 1}, {2, 1}}, {{3, 2}, {3, 2}}, {{3, 5}, {3, 4}},
                                   {{0, 0}, {0, 0}},  {{3, 1}, {3, 1}}, {{9, 5}, {9, 5}}};
  Columns columns(text);
  for (const Case& row : cases)
    EXPECT_EQ(columns.InCharacters(row.bytes), row.characters) << row.bytes.column;
  for (auto row = cases.rbegin(); row != cases.rend(); ++row) {
    EXPECT_EQ(columns.InCharacters(row->bytes), row->characters) << row->bytes.column;
  }
  EXPECT_EQ(Columns("abc").InCharacters({1, 3}), (Position{1, 3}));
  EXPECT_EQ(Columns("é").InCharacters({1, 100}), (Position{1, 2}));
}

TEST(Columns, OfYamlAndJson) {
  Problems problems("x");
  auto yaml = ParseYaml("- {name: \"ééé\", image: x}\n- !y é\n", problems);
  auto json = ParseJson("{\"name\": \"ééé\", \"image\": \"x\"}", problems);
  ASSERT_TRUE(yaml && json);
  EXPECT_EQ(yaml->items[0].Find("image")->at, (Position{1, 24}));
  EXPECT_EQ(json->Find("image")->at, (Position{1, 26}));
  Problems bad_json("x"), no_text("x");
  EXPECT_FALSE(ParseJson("{\"é\": x}", bad_json));
  EXPECT_FALSE(ParseYaml("é: \x01", no_text));
  EXPECT_EQ(bad_json.Lines().at(0).substr(0, 6), "x:1:7:");
  EXPECT_EQ(no_text.Lines().at(0).substr(0, 6), "x:1:4:");
}

}  // namespace
}  // namespace prefetch::doc::columns_test
