#include "doc/yaml.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace prefetch::doc::yaml_test {
namespace {

std::string Lines(const Problems& problems) {
  return base::Join(problems.Lines(), "\n");
}

struct BadYaml {
  std::string name;
  std::string text;
  std::string error;
};

class RefusedYaml : public testing::TestWithParam<BadYaml> {};

TEST_P(RefusedYaml, SaysWhere) {
  Problems problems("x.yaml");
  ParseYaml(GetParam().text, problems);
  EXPECT_EQ(Lines(problems), GetParam().error);
}

std::string AliasBomb() {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; i++) {
    std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 1; k < 10; k++) text += ", " + before;
    text += "]\n";
  }
  return text;
}

// Each anchor names what all the others are in.
std::string AnchorsInAnchors() {
  std::string text;
  for (int i = 0; i < 12; i++) text += "&a" + std::to_string(i) + " [";
  return text + std::string(100'000, 'x') + std::string(12, ']') + "\n";
}

std::string LongAliases() {
  std::string text = "a: &a " + std::string(500'000, 'x') + "\nb: [";
  for (int i = 0; i < 1000; i++) text += "*a, ";
  return text + "]\n";
}

INSTANTIATE_TEST_SUITE_P(
    Yaml, RefusedYaml,
    testing::Values(
        BadYaml{"DuplicateKeys", "a: 1\nb: 2\na: 3\nb: 4\n",
                "x.yaml:3:1: duplicate key \"a\", first written in line 1\n"
                "x.yaml:4:1: duplicate key \"b\", first written in line 2"},
        BadYaml{"TabAsIndentation", "a:\n\t- b\n", "x.yaml:2:1: a tab indents this line: use spaces"},
        BadYaml{"TabBehindADash", "a:\n-\tb: c\n\td: e\n", "x.yaml:2:2: a tab indents this line: use spaces"},
        BadYaml{"TabOfAValue", "a:\n- b: c\n\td: e\n", "x.yaml:3:1: a tab indents this line: use spaces"},
        BadYaml{"MergeKey", "a: &a {x: 1}\nb:\n  <<: *a\n", "x.yaml:3:3: merge keys (<<) are not supported"},
        BadYaml{"KeyIsASequence", "? [a]\n: b\n", "x.yaml:1:3: a key must be a string"},
        BadYaml{"KeyIsNull", "~: b\n", "x.yaml:1:1: a key must be a string"},
        BadYaml{"Tag", "a: !foo b\n", "x.yaml:1:4: tags such as !x are not supported"},
        BadYaml{"TwoDocuments", "a: 1\n---\nb: 2\n",
                "x.yaml:2:1: a second document begins here; only one is allowed"},
        BadYaml{
            "BrokenIndentation", "- a\nb: c\n",
            "x.yaml:2:1: did not find expected '-' indicator while parsing a block collection that begins in "
            "line 1"},
        BadYaml{"AliasInItself", "&a [*a]\n", "x.yaml:1:5: an alias must not name a node that contains it"},
        BadYaml{"UnknownAlias", "a: *b\n", "x.yaml:1:4: the referenced anchor is not defined"},
        BadYaml{"AliasBomb", AliasBomb(),
                "x.yaml:5:55: has more than 131072 values, those with anchors and aliases counted again"},
        BadYaml{"LongAliases", LongAliases(),
                "x.yaml:2:9: has more than 1048576 bytes of anchors and aliases"},
        BadYaml{"AnchorsInAnchors", AnchorsInAnchors(),
                "x.yaml:1:6: has more than 1048576 bytes of anchors and aliases"},
        BadYaml{"TooDeep", std::string(17, '[') + std::string(17, ']'),
                "x.yaml:1:17: is nested deeper than 16 levels"},
        BadYaml{"TooDeepByAlias", "a: &a [[[[[[[[1]]]]]]]]\nb: [[[[[[[[*a]]]]]]]]\n",
                "x.yaml:2:12: is nested deeper than 16 levels"},
        BadYaml{"Binary",
                std::string("\x7f"
                            "ELF\x02\x01\0",
                            7),
                "x.yaml:1:1: is not text: there is a control character here"},
        BadYaml{"Utf16",
                std::string("\xff\xfe"
                            "a\0",
                            4),
                "x.yaml:1:4: is not text: there is a control character here"},
        BadYaml{"NotUtf8", "a: \xc3\x28\n", "x.yaml:1:4: is not text in UTF-8"},
        BadYaml{"CarriageReturnsAlone", "a: b\rc: d\r",
                "x.yaml:1:5: a carriage return must be followed by a line feed"},
        BadYaml{"OpenQuote", "a: 'b\n",
                "x.yaml:2:1: found unexpected end of stream while scanning a quoted scalar that begins in "
                "line 1"},
        BadYaml{"OpenQuoteAndBlanks", "a: \"b\n  ",
                "x.yaml:2:3: found unexpected end of stream while scanning a quoted scalar that begins in "
                "line 1"},
        BadYaml{"OpenQuoteAtTheEnd", "a: \"b",
                "x.yaml:1:6: found unexpected end of stream while scanning a quoted scalar"},
        BadYaml{"OpenMapping", "{a: 1",
                "x.yaml:2:1: did not find expected ',' or '}' while parsing a flow mapping that begins in "
                "line 1"},
        BadYaml{"TooLong", "#" + std::string(1 << 20, ' '), "x.yaml: is longer than 1048576 bytes"}),
    [](const auto& row) { return row.param.name; });

struct Scalar {
  std::string name;
  std::string text;
  Node::Kind kind;
  std::int64_t integer = 0;
  double number = 0;
};

class CoreSchema : public testing::TestWithParam<Scalar> {};

TEST_P(CoreSchema, Resolves) {
  Problems problems("x.yaml");
  auto root = ParseYaml("a: " + GetParam().text, problems);
  ASSERT_TRUE(root) << Lines(problems);
  const Node& value = root->members.at(0).value;
  EXPECT_EQ(value.kind, GetParam().kind) << KindName(value.kind);
  EXPECT_EQ(value.integer, GetParam().integer);
  if (GetParam().kind == Node::Kind::kDouble) {
    EXPECT_EQ(value.number, GetParam().number);
  }
}

using Kind = Node::Kind;

INSTANTIATE_TEST_SUITE_P(
    Yaml, CoreSchema,
    testing::Values(Scalar{"True", "true", Kind::kBool}, Scalar{"UpperFalse", "FALSE", Kind::kBool},
                    Scalar{"MixedTrue", "tRue", Kind::kString}, Scalar{"Yes", "yes", Kind::kString},
                    Scalar{"Off", "off", Kind::kString}, Scalar{"Tilde", "~", Kind::kNull},
                    Scalar{"Null", "null", Kind::kNull}, Scalar{"Nothing", "", Kind::kNull},
                    Scalar{"Zero", "0", Kind::kInt, 0}, Scalar{"Negative", "-12", Kind::kInt, -12},
                    Scalar{"Plus", "+12", Kind::kInt, 12}, Scalar{"Hex", "0x1F", Kind::kInt, 31},
                    Scalar{"Octal", "0o17", Kind::kInt, 15}, Scalar{"HexMinus", "0x-1", Kind::kString},
                    Scalar{"LeadingZero", "010", Kind::kString}, Scalar{"Underscore", "1_000", Kind::kString},
                    Scalar{"Quoted", "\"0\"", Kind::kString}, Scalar{"SingleQuoted", "'true'", Kind::kString},
                    Scalar{"EmptyQuoted", "''", Kind::kString}, Scalar{"Tagged", "!!str 1", Kind::kString},
                    Scalar{"Float", "1.5", Kind::kDouble, 0, 1.5},
                    Scalar{"FloatNoWhole", "-.5", Kind::kDouble, 0, -0.5},
                    Scalar{"FloatNoFraction", "1.", Kind::kDouble, 0, 1},
                    Scalar{"Exponent", "1e3", Kind::kDouble, 0, 1000},
                    Scalar{"OnlyPoint", ".", Kind::kString}, Scalar{"Version", "1.2.3", Kind::kString},
                    Scalar{"Beyond64Bits", "9223372036854775808", Kind::kDouble, 0, 9223372036854775808.0},
                    Scalar{"Infinity", "-.inf", Kind::kDouble, 0, -std::numeric_limits<double>::infinity()},
                    Scalar{"Date", "2026-08-01", Kind::kString}, Scalar{"Sign", "+", Kind::kString},
                    Scalar{"Literal", "|\n  5\n", Kind::kString}),
    [](const auto& row) { return row.param.name; });

TEST(Yaml, KnowsPlacesAndOrder) {
  Problems problems("x.yaml");
  auto root = ParseYaml("\xEF\xBB\xBF# list\r\nz: 1\r\na:\t\r\n- b: 'x'\r\n  c: [1, 2]\r\n", problems);
  ASSERT_TRUE(root) << Lines(problems);
  EXPECT_EQ(root->members[0].key, "z");
  EXPECT_EQ(root->members[0].at, (Position{2, 1}));
  const Node& item = root->members[1].value.items.at(0);
  EXPECT_EQ(item.at, (Position{4, 3}));
  EXPECT_EQ(item.members[0].value.at, (Position{4, 6}));
  EXPECT_EQ(item.members[1].value.items[1].at, (Position{5, 10}));
}

TEST(Yaml, AnAliasIsACopyInItsOwnPlace) {
  Problems problems("x.yaml");
  auto root = ParseYaml("a: &x {k: [1]}\nb: *x\n", problems);
  ASSERT_TRUE(root);
  EXPECT_TRUE(SameContent(root->members[0].value, root->members[1].value));
  EXPECT_EQ(root->members[1].value.at, (Position{2, 4}));
}

TEST(Yaml, NothingIsANullDocument) {
  for (std::string_view text : {std::string_view(), std::string_view(""), std::string_view("\n\n"),
                                std::string_view("# only a comment\n"), std::string_view("---\n")}) {
    Problems problems("x.yaml");
    auto root = ParseYaml(text, problems);
    ASSERT_TRUE(root) << text;
    EXPECT_EQ(root->kind, Node::Kind::kNull) << text;
    EXPECT_EQ(root->at.line, text == "---\n" ? 2U : 1U);
  }
}

// libyaml compares each of them with all others, and ends a line at more characters than "\n".
TEST(Yaml, TagDirectivesAreFewHoweverLinesEnd) {
  for (const char* end : {"\n", "\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"}) {
    std::string text;
    for (int i = 0; i < 100; i++) text += "%TAG !" + std::to_string(i) + "! x" + end;
    Problems problems("x.yaml");
    EXPECT_FALSE(ParseYaml(text + "--- a\n", problems));
    EXPECT_NE(base::Join(problems.Lines(), " ").find("more than 16 %TAG directives"), std::string::npos)
        << base::Join(problems.Lines(), " ");
  }
}

TEST(Yaml, ManyDocuments) {
  Problems problems("x.yaml");
  auto documents = ParseYamlDocuments("---\na: 1\n---\n---\n# none\n---\nb: 2\n...\n", problems);
  ASSERT_TRUE(documents) << Lines(problems);
  ASSERT_EQ(documents->size(), 2U);
  EXPECT_EQ(documents->at(1).members[0].key, "b");
}

}  // namespace
}  // namespace prefetch::doc::yaml_test
