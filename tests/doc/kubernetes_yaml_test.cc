#include "doc/kubernetes_yaml.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "doc/write.h"

namespace prefetch::doc::kubernetes_yaml_test {
namespace {

// tests/judges compares thousands of texts with Kubernetes' own library; these rows name the rules.
struct Row {
  std::string name;
  std::string text;
  std::string json;  // or the problem
  RepeatedKeys repeated = RepeatedKeys::kLastCounts;
};

class KubernetesYaml : public testing::TestWithParam<Row> {};

TEST_P(KubernetesYaml, ReadsAsKubernetesDoes) {
  Problems problems("f");
  const auto root = ReadKubernetesYaml(GetParam().text, problems, GetParam().repeated);
  const bool good = root && problems.empty();
  EXPECT_EQ(good ? WriteJson(*root) : base::Join(problems.Lines(), "\n"), GetParam().json);
}

INSTANTIATE_TEST_SUITE_P(
    Scalars, KubernetesYaml,
    testing::Values(
        Row{"Booleans", "[yes, No, ON, off, y, N, true, tRUE]",
            R"([true,false,true,false,true,false,true,"tRUE"])"},
        Row{"WholeNumbers", "[0110, 08, 0x1F, 0b101, 0b-1, 0o17, 1_000, +7, -0]",
            "[72,8,31,5,-1,15,1000,7,0]"},
        Row{"OfAllBits", "[9223372036854775807, 18446744073709551615, 18446744073709551616]",
            "[9223372036854775807,18446744073709551615,18446744073709551616]"},
        Row{"Floats", "[110.0, 1e3, .5, 5., 1.5e-7, 1e400]", R"([110,1000,0.5,5,1.5e-7,"1e400"])"},
        Row{"Nothing", "[~, null, Null, '', NULL]", R"([null,null,null,"",null])"},
        Row{"Texts", "[1:30, 2001-01-01, _1, '5', \"yes\", <<]",
            R"(["1:30","2001-01-01","_1","5","yes","<<"])"},
        Row{"Tags", "- !!str 5\n- !!int '5'\n- !!float 5\n- !x 5\n- !!binary aGk=\n",
            R"(["5",5,5,"5","hi"])"},
        Row{"TagOfAnotherType", "!!int x", "f:1:1: does not fit its tag !!int"},
        Row{"NoNumberOfJson", "a: .inf", "f:1:4: is a number that JSON does not have"},
        Row{"TagsInFlow", "[!!str 5, &a !x b, *a]", R"(["5","b","b"])"},
        Row{"TagWithAComma", "[!x, b]", "f:1:2: a tag between brackets or braces must end with a space"},
        Row{"EscapedSlash", R"("a\/b")", "f:1:1: \\/ is not an escape of Kubernetes' YAML"},
        Row{"SlashElsewhere", R"(a: x\/y
b: 'x\/y'
c: "x\\/y")",
            R"({"a":"x\\/y","b":"x\\/y","c":"x\\/y"})"}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Keys, KubernetesYaml,
    testing::Values(Row{"BecomeTexts", "{1: a, 1.5: b, 1e6: c, yes: d, 0x10: e}",
                        R"({"1":"a","1.5":"b","1e+06":"c","true":"d","16":"e"})"},
                    Row{"Null", "~: a", "f:1:1: a key must be a string"},
                    Row{"Sequence", "? [a]\n: b", "f:1:3: a key must be a string"},
                    Row{"LastCounts", "a: 1\nb: 2\na: 3\n", R"({"a":3,"b":2})"},
                    Row{"OnceOnly", "a: 1\nb: 2\na: 3\n",
                        "f:3:1: duplicate key \"a\", first written in line 1", RepeatedKeys::kProblem},
                    Row{"NumberAndText", "1: a\n\"1\": b\n",
                        "f:2:1: a number or boolean and a string are the same key; Kubernetes takes either"}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Merges, KubernetesYaml,
    testing::Values(Row{"BehindTheKey", "a: 1\n<<: {a: 2}\n", R"({"a":2})"},
                    Row{"BeforeTheKey", "<<: {a: 2}\na: 1\n", R"({"a":1})"},
                    Row{"Two", "x: &x {a: 1}\nw: &w {b: 2}\nz:\n  <<: *x\n  <<: *w\n",
                        R"({"x":{"a":1},"w":{"b":2},"z":{"a":1,"b":2}})"},
                    Row{"FirstOfSeveral", "<<: [{a: 1}, {a: 2, b: 3}]", R"({"a":1,"b":3})"},
                    Row{"Quoted", "'<<': {a: 1}", R"({"<<":{"a":1}})"},
                    Row{"NoMapping", "<<: 5", "f:1:5: << must name mappings"},
                    Row{"IsADuplicate", "a: 1\n<<: {a: 2}\n",
                        "f:2:6: duplicate key \"a\", first written in line 1", RepeatedKeys::kProblem}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Documents, KubernetesYaml,
    testing::Values(Row{"None", "# only this\n", "null"},
                    Row{"TrailingSeparator", "a: 1\n---\n", R"({"a":1})"},
                    Row{"FirstOnly", "a: 1\n---\nb: [\n", R"({"a":1})"},
                    Row{"ByteOrderMark",
                        "\xEF\xBB\xBF"
                        "a: 1\n",
                        R"({"a":1})"},
                    Row{"Utf16",
                        std::string("\xFF\xFE"
                                    "a\0:\0 \0\xE9\0",
                                    10),
                        "{\"a\":\"\xC3\xA9\"}"},
                    Row{"HalfOfUtf16",
                        std::string("\xFF\xFE"
                                    "a\0:",
                                    5),
                        "f:1:2: control characters are not allowed"},
                    Row{"Latin1", "a: \xE9\n", "f:1:4: incomplete UTF-8 octet sequence"},
                    Row{"Version12", "%YAML 1.2\n---\na: 1\n",
                        "f:1:1: is of a version of YAML that Kubernetes does not read; leave %YAML out"},
                    Row{"AliasOfItself", "a: &a [*a]",
                        "f:1:8: an alias must not name a node that contains it"},
                    Row{"MarkWithin",
                        "a: 1\n\xEF\xBB\xBF"
                        "b: 2\n",
                        "f:2:1: there is a byte order mark within the document"}),
    [](const auto& row) { return row.param.name; });

// Messages and findings show what the author wrote, at its place.
TEST(KubernetesYaml, KeepsSpellingAndPlaces) {
  Problems problems("f");
  const auto root = ReadKubernetesYaml(
      "- 1.10\n- 0110\n- yes\n- &a {k: &b 1_000}\n- *a\n- {<<: *a}\n- *b\n- .5\n- !!str 5\n", problems);
  ASSERT_TRUE(root && problems.empty());
  std::string shown;
  auto show = [&](const Node& node) {
    shown += std::to_string(node.at.line) + ":" + std::to_string(node.at.column) + (node.plain ? " " : " '") +
             node.text + "\n";
  };
  for (const Node& item : root->items) show(item.members.empty() ? item : item.members.front().value);
  EXPECT_EQ(shown,
            "1:3 1.10\n2:3 0110\n3:3 yes\n4:10 1_000\n4:10 1_000\n4:10 1_000\n7:3 1_000\n8:3 0.5\n9:3 '5\n");
  EXPECT_EQ(root->items[4].at, (Position{5, 3}));
}

TEST(KubernetesObject, IsJsonIfItBeginsSo) {
  EXPECT_TRUE(LooksLikeJson("\xC2\xA0\n {x"));
  EXPECT_FALSE(LooksLikeJson("- {x"));
  Problems problems("f");
  EXPECT_FALSE(ReadKubernetesObject("{a: 1}", problems));
  Problems none("f");
  const auto object = ReadKubernetesObject(R"({"a":1,"a":2})", none);
  ASSERT_TRUE(object);
  EXPECT_EQ(object->order, KeyOrder::kText);
  EXPECT_EQ(object->root.members.size(), 2U) << "Go decodes each of them";
  EXPECT_EQ(ReadKubernetesObject("a: 1", none)->order, KeyOrder::kAlphabet);
  EXPECT_TRUE(none.empty());
  (void)ReadKubernetesObject(R"({"a":1,"a":2})", none, RepeatedKeys::kProblem);
  EXPECT_FALSE(none.empty());
}

}  // namespace
}  // namespace prefetch::doc::kubernetes_yaml_test
