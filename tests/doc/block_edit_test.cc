#include "doc/block_edit.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "doc/node.h"
#include "doc/yaml.h"

namespace prefetch::doc::block_edit_test {
namespace {

Node Item(const std::string& name, const std::string& more = "") {
  Node item = Node::Mapping();
  item.Set("name", Node::String(name));
  if (!more.empty()) item.Set("x", Node::String(more));
  return item;
}

Node Parsed(const std::string& text) {
  Problems problems("text");
  auto node = ParseYaml(text, problems);
  EXPECT_TRUE(node && problems.empty()) << text;
  return node ? *std::move(node) : Node();
}

struct EditCase {
  std::string name;
  std::string text;
  std::vector<std::string> items;  // names, put under `a` of `spec`, before `b`
  std::string expect;              // empty: only the tree can be changed
};

class PutIntoTextTest : public testing::TestWithParam<EditCase> {};

TEST_P(PutIntoTextTest, LeavesAllElseAndSaysWhatTheTreeSays) {
  const EditCase& row = GetParam();
  const Node tree = Parsed(row.text);
  Node changed = tree;
  std::vector<NamedItem> items;
  for (const std::string& name : row.items) {
    items.push_back({ValueAt(tree, {"spec"}), "a", Item(name, "new"), "b"});
    PutNamed(*ValueAt(changed, {"spec"}), "a", Item(name, "new"), "b");
  }
  auto text = PutIntoText(row.text, items);
  EXPECT_EQ(text.value_or(""), row.expect);
  if (text) {
    EXPECT_TRUE(SameContent(Parsed(*text), changed)) << *text;
  }
  const Node* put = ValueAt(changed, {"spec", "a"});
  ASSERT_NE(put, nullptr);
  for (const std::string& name : row.items) {
    int found = 0;
    for (const Node& one : put->items) found += TextAt(one, {"name"}) == name ? 1 : 0;
    EXPECT_EQ(found, 1) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    , PutIntoTextTest,
    testing::Values(
        EditCase{"NewKeyBelowTheCommentOfAnother",
                 "# top\nspec:\n  z: 1 # one\n  # of b\n  b:\n  - name: q\n",
                 {"k"},
                 "# top\nspec:\n  z: 1 # one\n  a:\n  - name: k\n    x: new\n  # of b\n  b:\n  - name: q\n"},
        EditCase{"DashesAsTheNeighbours",
                 "spec:\n  b:\n    - name: q\n",
                 {"k"},
                 "spec:\n  a:\n    - name: k\n      x: new\n  b:\n    - name: q\n"},
        EditCase{"TwoUnderANewKey",
                 "spec:\n  b: 1\n",
                 {"k", "m"},
                 "spec:\n  a:\n  - name: m\n    x: new\n  - name: k\n    x: new\n  b: 1\n"},
        EditCase{"FirstOfOthers",
                 "spec:\n  a:\n  # the first\n  - name: q  # q\n  b: 1\n",
                 {"k"},
                 "spec:\n  a:\n  - name: k\n    x: new\n  # the first\n  - name: q  # q\n  b: 1\n"},
        EditCase{"TwoBeforeOthers",
                 "spec:\n  a:\n  - name: q\n",
                 {"k", "m"},
                 "spec:\n  a:\n  - name: m\n    x: new\n  - name: k\n    x: new\n  - name: q\n"},
        EditCase{
            "InThePlaceOfItsOwn",
            "spec:\n  a:\n  - name: q\n  - name: k\n    x: |\n      old\n\n      older\n    y: [1]\n\n  # r\n"
            "  - name: r\n  b: 1\n",
            {"k"},
            "spec:\n  a:\n  - name: q\n  - name: k\n    x: new\n\n  # r\n  - name: r\n  b: 1\n"},
        EditCase{"TheLastOfItsSequence",
                 "spec:\n  a:\n  - name: k\n    x: old\nother: 1",
                 {"k"},
                 "spec:\n  a:\n  - name: k\n    x: new\nother: 1"},
        EditCase{"AtTheEndOfTheText",
                 "spec:\n  a:\n  - x: old\n    name: k",
                 {"k"},
                 "spec:\n  a:\n  - name: k\n    x: new"},
        EditCase{"FlowMapping", "spec: {b: 1}\n", {"k"}, ""},
        EditCase{"FlowSequence", "spec:\n  a: [{name: q}]\n  b: 1\n", {"k"}, ""},
        EditCase{"EmptySequence",
                 "spec:\n  a: []  # none\n  b: 1\n",
                 {"k", "m"},
                 "spec:\n  a:  # none\n  - name: m\n    x: new\n  - name: k\n    x: new\n  b: 1\n"},
        EditCase{"NoValue", "spec:\n  a:\n  b: 1\n", {"k"}, "spec:\n  a:\n  - name: k\n    x: new\n  b: 1\n"},
        EditCase{"Null", "spec:\n  a: null\n", {"k"}, "spec:\n  a:\n  - name: k\n    x: new\n"},
        EditCase{"DashAlone", "spec:\n  a:\n  -\n    name: q\n  b: 1\n", {"k"}, ""},
        EditCase{"LineBreaksOfWindows",
                 "spec:\r\n  b: 1\r\n",
                 {"k"},
                 "spec:\r\n  a:\r\n  - name: k\r\n    x: new\r\n  b: 1\r\n"},
        EditCase{"MixedLineBreaks", "spec:\r\n  b: 1\n", {"k"}, ""},
        EditCase{"NothingToStandBefore", "spec:\n  c: 1\n", {"k"}, ""}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::doc::block_edit_test
