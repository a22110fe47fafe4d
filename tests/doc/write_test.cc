#include "doc/write.h"

#include <gtest/gtest.h>

#include "doc/json.h"
#include "doc/yaml.h"

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

}  // namespace
}  // namespace prefetch::doc::write_test
