#include "doc/write.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "doc/block_edit.h"
#include "doc/json.h"
#include "doc/node.h"
#include "doc/problems.h"
#include "doc/yaml.h"
#include "rows.h"

namespace prefetch::doc::write_test {
namespace {

TEST(Write, YamlStringsStayStringsForEveryReader) {
  Node root = Node::Mapping();
  std::vector<Node> items;
  for (const char* text : {"plain", "a/b:v1@sha256:00", "/etc/x", "yes", "True", "null", "~", "1h", "0x1", "",
                           "a: b", "a:", "- a", "#", "x #y", "ä", "\"q\"", "line\nbreak", "key with space"}) {
    items.push_back(Node::String(text));
  }
  root.Set("items", Node::Sequence(items)).Set("no", Node::Int(-1)).Set("t", Node::Bool(true));
  root.Set("empty", Node::Sequence({})).Set("none", Node::Mapping()).Set("null", Node());
  std::string yaml = WriteYaml(root);
  EXPECT_EQ(yaml, R"(items:
- plain
- a/b:v1@sha256:00
- /etc/x
- "yes"
- "True"
- "null"
- "~"
- "1h"
- "0x1"
- ""
- "a: b"
- "a:"
- "- a"
- "#"
- "x #y"
- "ä"
- "\"q\""
- "line\nbreak"
- "key with space"
"no": -1
t: true
empty: []
none: {}
"null": null
)");
  Problems problems("x.yaml");
  auto again = ParseYaml(yaml, problems);
  ASSERT_TRUE(again && problems.empty()) << problems.ToStatus().error().message();
  EXPECT_TRUE(SameContent(root, *again));
}

// Kubernetes reads YAML 1.1: what is a string for 1.2 alone goes as it came.
TEST(Write, PlainWordsStayPlain) {
  const std::string text = "- 0400\n- yes\n- 1_000\n- \"0400\"\n- \"yes\"\n- \"a b\"\nz";
  Problems problems("text");
  auto tree = ParseYaml(text.substr(0, text.size() - 1), problems);
  ASSERT_TRUE(tree && problems.empty());
  EXPECT_EQ(WriteYaml(*tree), text.substr(0, text.size() - 1));
}

TEST(Write, TextsOfSeveralLinesAreBlocksWhereThatKeepsEveryByte) {
  Node root = Node::Mapping();
  Node inner = Node::Mapping();
  inner.Set("block", Node::String("# a\n\n  - b: \"ä\"\n---\n"));
  root.Set("data", inner);
  EXPECT_EQ(WriteYaml(root), "data:\n  block: |\n    # a\n\n      - b: \"ä\"\n    ---\n");
  for (const char* text :
       {"# a\n\n  - b: \"ä\"\n---\n", "a\nb", " a\nb\n", "a \nb\n", "a\n\n", "\na\n", "a\tb\n", "a\r\nb\n",
        "\n", "a\302\205b\n", "a\342\200\250b\n", "\xC3\xA4\n", "a\n \nb\n"}) {
    Node one = Node::Mapping();
    one.Set("t", Node::String(text)).Set("next", Node::Int(1));
    Problems problems("x.yaml");
    auto again = ParseYaml(WriteYaml(one), problems);
    ASSERT_TRUE(again) << WriteYaml(one);
    EXPECT_TRUE(SameContent(one, *again)) << WriteYaml(one);
  }
}

TEST(Write, NestedSequencesAndMappings) {
  Problems problems("x.json");
  auto root = ParseJson(R"({"a":[[1,[2,{"b":[{"c":1.50,"d":{"e":[]}}]}]],[]]})", problems);
  ASSERT_TRUE(root);
  EXPECT_EQ(WriteYaml(*root),
            "a:\n- - 1\n  - - 2\n    - b:\n      - c: 1.50\n        d:\n          e: []\n- []\n");
  auto again = ParseYaml(WriteYaml(*root), problems);
  ASSERT_TRUE(again);
  EXPECT_TRUE(SameContent(*root, *again));
  EXPECT_EQ(WriteJson(*root), R"({"a":[[1,[2,{"b":[{"c":1.50,"d":{"e":[]}}]}]],[]]})");
  EXPECT_EQ(WritePrettyJson(root->members[0].value.items[0].items[1]),
            "[\n  2,\n  {\n    \"b\": [\n      {\n        \"c\": 1.50,\n        \"d\": {\n          \"e\": "
            "[]\n        }\n"
            "      }\n    ]\n  }\n]\n");
}

TEST(Write, AScalarIsADocument) {
  EXPECT_EQ(WriteYaml(Node::String("a")), "\"a\"\n");
  EXPECT_EQ(WriteJson(Node()), "null");
}

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

using Strings = std::vector<std::string>;
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

TEST_TABLE(PutIntoTextTest, LeavesAllElseAndSaysWhatTheTreeSays, EditCase) {
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

TEST_ROWS(, PutIntoTextTest,
          {"NewKeyBelowTheCommentOfAnother", "# top\nspec:\n  z: 1 # one\n  # of b\n  b:\n  - name: q\n",
           Strings{"k"},
           "# top\nspec:\n  z: 1 # one\n  a:\n  - name: k\n    x: new\n  # of b\n  b:\n  - name: q\n"},
          {"DashesAsTheNeighbours", "spec:\n  b:\n    - name: q\n", Strings{"k"},
           "spec:\n  a:\n    - name: k\n      x: new\n  b:\n    - name: q\n"},
          {"TwoUnderANewKey", "spec:\n  b: 1\n", Strings{"k", "m"},
           "spec:\n  a:\n  - name: m\n    x: new\n  - name: k\n    x: new\n  b: 1\n"},
          {"FirstOfOthers", "spec:\n  a:\n  # the first\n  - name: q  # q\n  b: 1\n", Strings{"k"},
           "spec:\n  a:\n  - name: k\n    x: new\n  # the first\n  - name: q  # q\n  b: 1\n"},
          {"TwoBeforeOthers", "spec:\n  a:\n  - name: q\n", Strings{"k", "m"},
           "spec:\n  a:\n  - name: m\n    x: new\n  - name: k\n    x: new\n  - name: q\n"},
          {"InThePlaceOfItsOwn",
           "spec:\n  a:\n  - name: q\n  - name: k\n    x: |\n      old\n\n      older\n    y: [1]\n\n  # r\n"
           "  - name: r\n  b: 1\n",
           Strings{"k"}, "spec:\n  a:\n  - name: q\n  - name: k\n    x: new\n\n  # r\n  - name: r\n  b: 1\n"},
          {"TheLastOfItsSequence", "spec:\n  a:\n  - name: k\n    x: old\nother: 1", Strings{"k"},
           "spec:\n  a:\n  - name: k\n    x: new\nother: 1"},
          {"AtTheEndOfTheText", "spec:\n  a:\n  - x: old\n    name: k", Strings{"k"},
           "spec:\n  a:\n  - name: k\n    x: new"},
          {"FlowMapping", "spec: {b: 1}\n", {"k"}, ""},
          {"FlowSequence", "spec:\n  a: [{name: q}]\n  b: 1\n", {"k"}, ""},
          {"EmptySequence", "spec:\n  a: []  # none\n  b: 1\n", Strings{"k", "m"},
           "spec:\n  a:  # none\n  - name: m\n    x: new\n  - name: k\n    x: new\n  b: 1\n"},
          {"NoValue", "spec:\n  a:\n  b: 1\n", {"k"}, "spec:\n  a:\n  - name: k\n    x: new\n  b: 1\n"},
          {"Null", "spec:\n  a: null\n", {"k"}, "spec:\n  a:\n  - name: k\n    x: new\n"},
          {"DashAlone", "spec:\n  a:\n  -\n    name: q\n  b: 1\n", {"k"}, ""},
          {"LineBreaksOfWindows", "spec:\r\n  b: 1\r\n", Strings{"k"},
           "spec:\r\n  a:\r\n  - name: k\r\n    x: new\r\n  b: 1\r\n"},
          {"MixedLineBreaks", "spec:\r\n  b: 1\n", {"k"}, ""},
          {"NothingToStandBefore", "spec:\n  c: 1\n", {"k"}, ""});

}  // namespace
}  // namespace prefetch::doc::write_test
