#include "doc/json.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "rows.h"

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

TEST_ROWS(Json, StrictJson, {"Empty", "", "x.json:1:1: is empty"},
          {"OnlySpace", " \n ", "x.json:2:2: ends too early"},
          {"TrailingGarbage", "{}\n x", "x.json:2:2: there is something behind the end of the document"},
          {"TwoValues", "1 2", "x.json:1:3: there is something behind the end of the document"},
          {"Comment", "{ // no\n}", "x.json:1:3: a string in double quotes is expected here"},
          {"TrailingCommaInObject", "{\"a\":1,}", "x.json:1:8: a string in double quotes is expected here"},
          {"TrailingCommaInArray", "[1,]", "x.json:1:4: is not a JSON value"},
          {"NoComma", "[1 2]", "x.json:1:4: a comma or ] is expected here"},
          {"NoCommaInObject", "{\"a\":1 \"b\":2}", "x.json:1:8: a comma or } is expected here"},
          {"NoColon", "{\"a\" 1}", "x.json:1:6: a colon is expected here"},
          {"SingleQuotes", "{'a':1}", "x.json:1:2: a string in double quotes is expected here"},
          {"BareKey", "{a:1}", "x.json:1:2: a string in double quotes is expected here"},
          {"BareWordIsNotQuoted", "{\"password\":hunter2}", "x.json:1:13: is not a JSON value"},
          {"WordWithTail", "[nullx]", "x.json:1:6: a comma or ] is expected here"},
          {"LeadingZero", "[01]", "x.json:1:3: a JSON number has no leading zeros"},
          {"PointWithoutDigits", "[1.]", "x.json:1:4: a JSON number needs digits behind its point"},
          {"ExponentWithoutDigits", "[1e+]", "x.json:1:5: a JSON number needs digits in its exponent"},
          {"MinusAlone", "[-]", "x.json:1:3: is not a JSON number"},
          {"Plus", "[+1]", "x.json:1:2: is not a JSON value"},
          {"TooLargeANumber", "[1e999]", "x.json:1:7: the number is out of range"},
          {"LineBreakInString", "[\"a\nb\"]", "x.json:1:4: a control character in a string must be escaped"},
          {"UnknownEscape", "[\"\\x41\"]", "x.json:1:4: is not an escape that JSON knows"},
          {"ShortUnicodeEscape", "[\"\\u12\"]", "x.json:1:5: \\u needs four hexadecimal digits"},
          {"HalfSurrogate", "[\"\\ud800\"]", "x.json:1:9: half of a surrogate pair is not a character"},
          {"OpenString", "[\"a", "x.json:1:4: the string has no end"},
          {"OpenObject", "{\"a\":1", "x.json:1:7: a comma or } is expected here"},
          {"NotUtf8", "[\"\xff\"]", "x.json:1:3: is not text in UTF-8"},
          {"Nul", std::string("[\0]", 3), "x.json:1:2: is not text: there is a control character here"},
          {"DuplicateKeys", "{\"a\":1,\n \"b\":2,\n \"a\":3, \"b\":4}",
           "x.json:3:2: duplicate key \"a\", first written in line 1\n"
           "x.json:3:9: duplicate key \"b\", first written in line 2"},
          {"TooDeep", std::string(17, '['), "x.json:1:17: is nested deeper than 16 levels"});

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

struct ItemsCase {
  std::string name, text;
  std::string expect;  // "LINE:COLUMN ITEM|" for each item, then the rest
};

// In pieces of `size` bytes.
std::string Split(const std::string& text, std::size_t size, std::size_t most = 1000) {
  std::string found;
  JsonItems items(most, [&](std::string_view item, Position at) {
    found += std::to_string(at.line) + ":" + std::to_string(at.column) + " " + std::string(item) + "|";
  });
  for (std::size_t at = 0; at < text.size(); at += size) items.Feed(std::string_view(text).substr(at, size));
  return found + items.rest() + (items.has_no_items() ? " whole" : "") + (items.truncated() ? " cut" : "");
}

TEST_TABLE(JsonItemsTest, AreHandedOverOneByOne, ItemsCase) {
  for (const std::size_t size : {1U, 3U, 1000U}) EXPECT_EQ(Split(row.text, size), row.expect) << size;
}

TEST_ROWS(All, JsonItemsTest,
          {"AList", R"({"kind":"List","items":[{"a":1},{"b":[2,"]"]}],"x":2})",
           R"(1:25 {"a":1}|1:33 {"b":[2,"]"]}|{"kind":"List","items":[0,0],"x":2})"},
          {"Lines", "{\"items\": [\n  {\n\"a\":\"\xC3\xA9\"}, {}\n]}",
           "2:3 {\n\"a\":\"\xC3\xA9\"}|3:11 {}|{\"items\": [\n  0\n, 0\n]}"},
          {"ColumnsCountCharacters", "[{\"a\":\"\xC3\xA9\xE2\x82\xAC\"},1]",
           "1:2 {\"a\":\"\xC3\xA9\xE2\x82\xAC\"}|1:13 1|[0,0]"},
          {"AnArray", R"([{"a":1}, 5 , "x\"]", null])",
           R"(1:2 {"a":1}|1:11 5|1:15 "x\"]"|1:23 null|[0, 0 , 0, 0])"},
          {"NoItems", R"({"kind":"Pod","spec":{"items":[1]}})",
           R"({"kind":"Pod","spec":{"items":[1]}} whole)"},
          {"AValueCalledItems", R"({"kind":"items","a":[1]})", R"({"kind":"items","a":[1]} whole)"},
          {"ItemsInItems", R"({"items":[{"items":[1]}]})", R"(1:11 {"items":[1]}|{"items":[0]})"},
          {"MistakesStayInTheRest", R"({"items":[{} {},,]} x)", R"(1:11 {}|1:14 {}|{"items":[0 0,,]} x)"},
          {"CutOff", R"({"items":[{"a":)", R"({"items":[0)"}, {"Empty", "", " whole"});

TEST(JsonItems, AnItemThatIsTooLongIsCut) {
  EXPECT_EQ(Split(R"([{"a":"0123456789"}])", 1, 9), "1:2 {\"a\":\"012|[0] cut");
}

TEST(ParseOrNull, CannotBeReadIsNull) {
  const std::string deep = std::string(66, '[') + std::string(66, ']');
  for (const std::string& text : {std::string(), std::string("<html>"), std::string("{"), std::string("{} x"),
                                  deep, std::string(100000, '[')}) {
    EXPECT_EQ(ParseOrNull(text).kind, Node::Kind::kNull) << text.substr(0, 80);
  }
}

// A stranger's 4 MiB must not take 200 MiB to read.
TEST(ParseOrNull, TooManyValuesAreNotRead) {
  const auto list_of = [](std::size_t count) {
    std::string text = R"({"quoted \" [,": ",[{", "list":[0)";
    for (std::size_t i = 1; i < count; i++) text += ",0";
    return text + "]}";
  };
  EXPECT_EQ(ItemsAt(ParseOrNull(list_of(99'990)), {"list"}).size(), 99'990U);
  EXPECT_EQ(ParseOrNull(list_of(100'010)).kind, Node::Kind::kNull);
  EXPECT_EQ(ParseOrNull("/* \" */" + list_of(3)).kind, Node::Kind::kNull) << "a comment";
}

}  // namespace
}  // namespace prefetch::doc::json_test
