#include "doc/reader.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "doc/json.h"
#include "doc/node.h"
#include "doc/write.h"
#include "doc/yaml.h"
#include "must.h"

namespace prefetch::doc::reader_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

std::string Lines(const Problems& problems) {
  return base::Join(problems.Lines(), "\n");
}

enum class Color { kRed, kGreen, kBlue };

struct Everything {
  std::optional<std::string> text;
  std::optional<bool> flag;
  std::optional<std::int64_t> count;
  std::optional<std::chrono::nanoseconds> wait;
  std::optional<Color> color;
  std::vector<std::string> names;
  std::vector<std::pair<std::string, std::string>> labels;
  std::optional<std::string> inner;
};

Everything Decode(const Node& root, Problems& problems) {
  Everything out;
  ObjectReader object(Reader(root, problems));
  object.Expect("kind", "Everything");
  out.text = object.String("text", Need::kRequired);
  out.flag = object.Bool("flag");
  out.count = object.Int("count", {.least = 1, .most = 10});
  out.wait = object.Duration("wait", {.least = seconds(1), .most = minutes(5)});
  out.color =
      object.Enum<Color>("color", {{"Red", Color::kRed}, {"Green", Color::kGreen}, {"Blue", Color::kBlue}});
  out.names = object.Strings("names");
  out.labels = object.StringMap("labels");
  for (const Reader& item : object.Items("items")) {
    ObjectReader inner(item);
    out.inner = inner.String("name", Need::kRequired);
    inner.Finish();
  }
  object.Finish();
  return out;
}

// A terminal would obey them, and a log would have one more line.
TEST(Reader, ControlCharactersOfAKeyAreNotSaid) {
  Problems problems("x.json");
  auto root = tests::Must(ParseJson(R"({"a\u001b[2J\nx.json:9:9: b":1})", problems));
  ObjectReader(Reader(*root, problems)).Finish();
  ASSERT_EQ(problems.Lines().size(), 1U);
  EXPECT_EQ(Lines(problems).find_first_of("\x1b\n"), std::string::npos) << Lines(problems);
}

TEST(Reader, ReadsEveryType) {
  Problems problems("x.yaml");
  auto root = tests::Must(ParseYaml(R"(kind: Everything
text: "yes"
flag: false
count: 10
wait: 1m30s
color: Green
names: [a, "1"]
labels: {x.y/z: v}
items: [{name: inner}]
)",
                                    problems));
  Everything out = Decode(*root, problems);
  EXPECT_EQ(Lines(problems), "");
  EXPECT_EQ(out.text, "yes");
  EXPECT_EQ(out.flag, false);
  EXPECT_EQ(out.count, 10);
  EXPECT_EQ(out.wait, seconds(90));
  EXPECT_EQ(out.color, Color::kGreen);
  EXPECT_EQ(out.names, (std::vector<std::string>{"a", "1"}));
  EXPECT_EQ(out.labels.at(0).first, "x.y/z");
  EXPECT_EQ(out.inner, "inner");
}

TEST(Reader, FindsAllMistakesInOnePass) {
  Problems problems("x.yaml");
  auto root = tests::Must(ParseYaml(R"(kind: Something
text: yes
flag: yes
count: 11
wait: 10m
color: red
names: [1, [a]]
labels: {x.y/z: 3}
items:
- nmae: n
- 5
colour: Red
other: 1
)",
                                    problems));
  Decode(*root, problems);
  EXPECT_EQ(Lines(problems), R"(x.yaml:1:7: kind: must be Everything
x.yaml:2:7: text: must be a string; Kubernetes takes this word for a boolean, so put it in quotes
x.yaml:3:7: flag: must be true or false
x.yaml:4:8: count: must be from 1 to 10
x.yaml:5:7: wait: must be from 1s to 5m
x.yaml:6:8: color: must be Red, Green or Blue
x.yaml:7:9: names[0]: must be a string, not an integer; put it in quotes
x.yaml:7:12: names[1]: must be a string, not a sequence
x.yaml:8:17: labels["x.y/z"]: must be a string, not an integer; put it in quotes
x.yaml:10:3: items[0].name: is required
x.yaml:10:3: items[0].nmae: unknown field; did you mean "name"?
x.yaml:11:3: items[1]: must be a mapping, not an integer
x.yaml:12:1: colour: unknown field; did you mean "color"?
x.yaml:13:1: other: unknown field)");
}

TEST(Reader, TypesAreNotGuessed) {
  Problems problems("x.json");
  auto root = tests::Must(ParseJson(R"({"kind":"Everything","text":5,"flag":"true","count":"3","wait":60,
"color":null,"names":"a","labels":[],"items":{}})",
                                    problems));
  Decode(*root, problems);
  EXPECT_EQ(Lines(problems), R"(x.json:1:29: text: must be a string, not an integer; put it in quotes
x.json:1:38: flag: must be true or false
x.json:1:53: count: must be an integer, not a string
x.json:1:64: wait: must be a duration such as "90s" or "1h30m"
x.json:2:22: names: must be a sequence, not a string
x.json:2:35: labels: must be a mapping, not a sequence
x.json:2:46: items: must be a sequence, not a mapping)");
}

TEST(Reader, ADocumentThatIsNoMappingIsOneMistake) {
  Problems problems("x.yaml");
  auto root = tests::Must(ParseYaml("- a\n", problems));
  Decode(*root, problems);
  EXPECT_EQ(Lines(problems), "x.yaml:1:1: must be a mapping, not a sequence");
}

// The name of a file may hold any byte.
TEST(Problems, NameTheSourceInPrintableText) {
  Problems problems("a\xff[2J\x1b[31m\n.yaml");
  problems.Add({1, 1}, "", "m");
  for (const std::string& line : problems.Lines()) {
    EXPECT_EQ(line.find_first_of("\xff\x1b\n"), std::string::npos) << line;
  }
}

TEST(Problems, AreBoundedAndCounted) {
  Problems problems("x.yaml");
  for (std::uint32_t i = 0; i < 150; i++) problems.Add({i + 1, 1}, "p", "m");
  EXPECT_EQ(problems.count(), 150U);
  EXPECT_EQ(problems.Lines().size(), 101U);
  EXPECT_EQ(problems.Lines().back(), "x.yaml: and 50 more");
  EXPECT_EQ(problems.ToStatus().error().code(), base::Code::kInvalidArgument);
}

Node Parsed(const std::string& json) {
  Problems problems("x");
  return ParseJson(json, problems).value_or(Node());
}

TEST(Path, LeadsToValues) {
  Node root = Parsed(R"({"metadata":{"name":"n1","count":3},"items":[{"a":"b"}]})");
  EXPECT_EQ(TextAt(root, {"metadata", "name"}), "n1");
  EXPECT_EQ(TextAt(root, {"metadata", "count"}), "") << "a number is no text";
  EXPECT_EQ(TextAt(root, {"metadata", "none"}), "");
  EXPECT_EQ(TextAt(root, {"metadata", "name", "deeper"}), "");
  EXPECT_EQ(ValueAt(root, {"metadata", "count"})->integer, 3);
  EXPECT_EQ(ValueAt(root, {}), &root);
  EXPECT_EQ(ValueAt(root, {"none", "at all"}), nullptr);
  ASSERT_EQ(ItemsAt(root, {"items"}).size(), 1U);
  EXPECT_EQ(TextAt(ItemsAt(root, {"items"})[0], {"a"}), "b");
  EXPECT_TRUE(ItemsAt(root, {"metadata"}).empty());
  EXPECT_TRUE(ItemsAt(root, {"none"}).empty());
}

TEST(Edit, ChangesWhatIsThereAndAddsWhatIsNot) {
  Node root = Parsed(R"({"a":1,"list":[{"v":1},{"v":2}]})");
  Put(root, "a", Node::Int(2));
  Put(Sub(Sub(root, "b"), "c"), "d", Node::String("x"));
  ForEachAt(root, {"list", "v"}, 0, [](Node& value) { value = Node::Bool(true); });
  EXPECT_EQ(WriteJson(root), R"({"a":2,"list":[{"v":true},{"v":true}],"b":{"c":{"d":"x"}}})");
  Remove(root, "list");
  Remove(root, "none");
  EXPECT_EQ(Find(root, "list"), nullptr);
  EXPECT_EQ(Find(root, "a")->integer, 2);
}

}  // namespace
}  // namespace prefetch::doc::reader_test
