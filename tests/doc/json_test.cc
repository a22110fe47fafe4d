#include "doc/json.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace prefetch::doc::json_test {
namespace {

std::string Lines(const Problems& problems) {
  return base::Join(problems.Lines(), "\n");
}

struct BadJson {
  std::string name;
  std::string text;
  std::string error;
};

class StrictJson : public testing::TestWithParam<BadJson> {};

TEST_P(StrictJson, IsRefusedWithItsPlace) {
  Problems problems("x.json");
  ParseJson(GetParam().text, problems);
  EXPECT_EQ(Lines(problems), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Json, StrictJson,
    testing::Values(
        BadJson{"Empty", "", "x.json:1:1: is empty"},
        BadJson{"OnlySpace", " \n ", "x.json:2:2: ends too early"},
        BadJson{"TrailingGarbage", "{}\n x", "x.json:2:2: there is something behind the end of the document"},
        BadJson{"TwoValues", "1 2", "x.json:1:3: there is something behind the end of the document"},
        BadJson{"Comment", "{ // no\n}", "x.json:1:3: a string in double quotes is expected here"},
        BadJson{"TrailingCommaInObject", "{\"a\":1,}",
                "x.json:1:8: a string in double quotes is expected here"},
        BadJson{"TrailingCommaInArray", "[1,]", "x.json:1:4: is not a JSON value"},
        BadJson{"NoComma", "[1 2]", "x.json:1:4: a comma or ] is expected here"},
        BadJson{"NoCommaInObject", "{\"a\":1 \"b\":2}", "x.json:1:8: a comma or } is expected here"},
        BadJson{"NoColon", "{\"a\" 1}", "x.json:1:6: a colon is expected here"},
        BadJson{"SingleQuotes", "{'a':1}", "x.json:1:2: a string in double quotes is expected here"},
        BadJson{"BareKey", "{a:1}", "x.json:1:2: a string in double quotes is expected here"},
        BadJson{"BareWordIsNotQuoted", "{\"password\":hunter2}", "x.json:1:13: is not a JSON value"},
        BadJson{"WordWithTail", "[nullx]", "x.json:1:6: a comma or ] is expected here"},
        BadJson{"LeadingZero", "[01]", "x.json:1:3: a JSON number has no leading zeros"},
        BadJson{"PointWithoutDigits", "[1.]", "x.json:1:4: a JSON number needs digits behind its point"},
        BadJson{"ExponentWithoutDigits", "[1e+]", "x.json:1:5: a JSON number needs digits in its exponent"},
        BadJson{"MinusAlone", "[-]", "x.json:1:3: is not a JSON number"},
        BadJson{"Plus", "[+1]", "x.json:1:2: is not a JSON value"},
        BadJson{"TooLargeANumber", "[1e999]", "x.json:1:7: the number is out of range"},
        BadJson{"LineBreakInString", "[\"a\nb\"]",
                "x.json:1:4: a control character in a string must be escaped"},
        BadJson{"UnknownEscape", "[\"\\x41\"]", "x.json:1:4: is not an escape that JSON knows"},
        BadJson{"ShortUnicodeEscape", "[\"\\u12\"]", "x.json:1:5: \\u needs four hexadecimal digits"},
        BadJson{"HalfSurrogate", "[\"\\ud800\"]", "x.json:1:9: half of a surrogate pair is not a character"},
        BadJson{"OpenString", "[\"a", "x.json:1:4: the string has no end"},
        BadJson{"OpenObject", "{\"a\":1", "x.json:1:7: a comma or } is expected here"},
        BadJson{"NotUtf8", "[\"\xff\"]", "x.json:1:3: is not text in UTF-8"},
        BadJson{"Nul", std::string("[\0]", 3), "x.json:1:2: is not text: there is a control character here"},
        BadJson{"DuplicateKeys", "{\"a\":1,\n \"b\":2,\n \"a\":3, \"b\":4}",
                "x.json:3:2: duplicate key \"a\", first written in line 1\n"
                "x.json:3:9: duplicate key \"b\", first written in line 2"},
        BadJson{"TooDeep", std::string(17, '['), "x.json:1:17: is nested deeper than 16 levels"}),
    [](const auto& row) { return row.param.name; });

TEST(Json, ReadsEveryKindWithItsPlace) {
  Problems problems("x.json");
  auto root = ParseJson(
      "\xEF\xBB\xBF{\r\n  \"text\": \"a\\n\\u00e4\\ud834\\udd1e/\\/\",\n  \"list\": [1, -2.5e1, true, null, "
      "{}]\n}\n",
      problems);
  ASSERT_TRUE(root);
  EXPECT_TRUE(problems.empty());
  ASSERT_EQ(root->members.size(), 2U);
  EXPECT_EQ(root->members[0].at, (Position{2, 3}));
  EXPECT_EQ(root->members[0].value.at, (Position{2, 11}));
  EXPECT_EQ(root->members[0].value.text, "a\nä𝄞//");
  const Node& list = root->members[1].value;
  ASSERT_EQ(list.items.size(), 5U);
  EXPECT_EQ(list.items[0].integer, 1);
  EXPECT_EQ(list.items[1].number, -25.0);
  EXPECT_EQ(list.items[1].at, (Position{3, 15}));
  EXPECT_TRUE(list.items[2].boolean);
  EXPECT_EQ(list.items[3].kind, Node::Kind::kNull);
  EXPECT_EQ(list.items[4].kind, Node::Kind::kMapping);
}

TEST(Json, AnIntegerBeyond64BitsIsANumber) {
  Problems problems("x.json");
  auto root = ParseJson("[9223372036854775807, 9223372036854775808]", problems);
  ASSERT_TRUE(root);
  EXPECT_EQ(root->items[0].kind, Node::Kind::kInt);
  EXPECT_EQ(root->items[1].kind, Node::Kind::kDouble);
}

TEST(Json, LenientIsAsGo) {
  Problems problems("config.json");
  auto root = ParseJson("{\"a\":1,\"b\":\"\\ud800x\xff\",\"a\":2}", problems, JsonRules::kLenient);
  ASSERT_TRUE(root);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(root->members.size(), 2U);
  EXPECT_EQ(root->Find("a")->integer, 2);
  EXPECT_EQ(root->Find("b")->text, "\xEF\xBF\xBDx\xEF\xBF\xBD");
}

TEST(Json, LimitsHold) {
  Problems bytes("x.json"), nodes("x.json");
  EXPECT_FALSE(ParseJson("[1,2,3]", bytes, JsonRules::kLenient, {.bytes = 6}));
  EXPECT_EQ(Lines(bytes), "x.json: is longer than 6 bytes");
  EXPECT_FALSE(ParseJson("[1,2,3]", nodes, JsonRules::kStrict, {.nodes = 3}));
  EXPECT_EQ(Lines(nodes), "x.json:1:6: has more than 3 values");
}

}  // namespace
}  // namespace prefetch::doc::json_test
