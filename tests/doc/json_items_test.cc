#include "doc/json.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace prefetch::doc::json_items_test {
namespace {

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

class JsonItemsTest : public testing::TestWithParam<ItemsCase> {};

TEST_P(JsonItemsTest, AreHandedOverOneByOne) {
  for (const std::size_t size : {1U, 3U, 1000U})
    EXPECT_EQ(Split(GetParam().text, size), GetParam().expect) << size;
}

INSTANTIATE_TEST_SUITE_P(
    All, JsonItemsTest,
    testing::Values(
        ItemsCase{"AList", R"({"kind":"List","items":[{"a":1},{"b":[2,"]"]}],"x":2})",
                  R"(1:25 {"a":1}|1:33 {"b":[2,"]"]}|{"kind":"List","items":[0,0],"x":2})"},
        ItemsCase{"Lines", "{\"items\": [\n  {\n\"a\":\"\xC3\xA9\"}, {}\n]}",
                  "2:3 {\n\"a\":\"\xC3\xA9\"}|3:11 {}|{\"items\": [\n  0\n, 0\n]}"},
        ItemsCase{"AnArray", R"([{"a":1}, 5 , "x\"]", null])",
                  R"(1:2 {"a":1}|1:11 5|1:15 "x\"]"|1:23 null|[0, 0 , 0, 0])"},
        ItemsCase{"NoItems", R"({"kind":"Pod","spec":{"items":[1]}})",
                  R"({"kind":"Pod","spec":{"items":[1]}} whole)"},
        ItemsCase{"AValueCalledItems", R"({"kind":"items","a":[1]})", R"({"kind":"items","a":[1]} whole)"},
        ItemsCase{"ItemsInItems", R"({"items":[{"items":[1]}]})", R"(1:11 {"items":[1]}|{"items":[0]})"},
        ItemsCase{"MistakesStayInTheRest", R"({"items":[{} {},,]} x)",
                  R"(1:11 {}|1:14 {}|{"items":[0 0,,]} x)"},
        ItemsCase{"CutOff", R"({"items":[{"a":)", R"({"items":[0)"}, ItemsCase{"Empty", "", " whole"}),
    [](const auto& row) { return row.param.name; });

TEST(JsonItems, AnItemThatIsTooLongIsCut) {
  EXPECT_EQ(Split(R"([{"a":"0123456789"}])", 1, 9), "1:2 {\"a\":\"012|[0] cut");
}

}  // namespace
}  // namespace prefetch::doc::json_items_test
