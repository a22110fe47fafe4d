#include "doc/kubernetes_stream.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "doc/write.h"

namespace prefetch::doc::kubernetes_stream_test {
namespace {

// tests/judges compares thousands of texts with kubectl's own decoder; these rows name the rules.
struct Row {
  std::string name;
  std::string text;
  std::string expect;  // "line:column JSON" of each document, or the problem
};

std::string Wide(std::string_view ascii, bool little) {
  std::string out = little ? "\xFF\xFE" : "\xFE\xFF";
  for (char c : ascii) out += little ? std::string{c, '\0'} : std::string{'\0', c};
  return out;
}

TEST(KubernetesDocuments, AreThoseOfKubectl) {
  const Row rows[] = {
      {"Nothing", "", ""},
      {"EmptyOnes", "---\n---\n# c\n---\n~\n---\n", ""},
      {"Several", "a: 1\n---\n# c\nb: 2\n--- # next\n[x]\n", "1:1 {\"a\":1}\n4:1 {\"b\":2}\n6:1 [\"x\"]"},
      {"WithoutALineAtTheEnd", "a: 1\n---\nb: 2", "1:1 {\"a\":1}\n3:1 {\"b\":2}"},
      {"CarriageReturns", "a: 1\r\n---\r\nb: 2\r\n", "1:1 {\"a\":1}\n3:1 {\"b\":2}"},
      {"TextBehindTheDashes", "a: 1\n---\n--- b\n",
       "f:3:1: kubectl takes a line that begins with --- for the next document; only a "
       "comment may follow "
       "there"},
      {"DashesWithinAText", "a: |\n  x\n--- y\n  z\n",
       "f:3:1: kubectl takes a line that begins with --- for the next document; only a "
       "comment may follow "
       "there"},
      {"BehindTheDots", "a: 1\n...\nb: 2\n",
       "f:3:1: kubectl does not read what is behind the end of a document; put --- before it"},
      {"OnlyDots", "a: 1\n...\n# c\n", "1:1 {\"a\":1}"},
      {"DirectiveBeforeTheDashes", "%YAML 1.1\n---\na: 1\n", "f:2:1: did not find expected <document start>"},
      {"MistakeInTheSecond", "a: 1\n---\nb: [\n",
       "f:4:1: did not find expected node content while parsing a flow node"},
      {"AnchorsEndWithTheirDocument", "a: &a 1\n---\nb: *a\n", "f:3:4: the referenced anchor is not defined"},
      {"AliasesAreOfTheirDocument", "x: &x [1]\n---\nw: &x [1, 2]\nz: *x\n",
       "1:1 {\"x\":[1]}\n3:1 {\"w\":[1,2],\"z\":[1,2]}"},
      {"Values", "{\"a\":1}{\"b\":2}\n  {\"c\":3}\nnull {\"d\": 4}\n",
       "1:1 {\"a\":1}\n1:8 {\"b\":2}\n2:3 {\"c\":3}\n3:6 {\"d\":4}"},
      {"LastKeyCounts", "{\"a\":1,\"a\":2}", "1:1 {\"a\":2}"},
      {"ThenYaml", "{\"a\":1}\n---\nb: 2\n", "1:1 {\"a\":1}\n3:1 {\"b\":2}"},
      {"ThenYamlOnTheSameLine", "{\"\xC3\xA9\":1} \xC2\xA0 b: 2\n", "1:1 {\"\xC3\xA9\":1}\n1:11 {\"b\":2}"},
      {"ThenACommentBehindIt", "{\"a\":1} # c\n", "1:1 {\"a\":1}"},
      {"TwoAndThenYaml", "{}\n{}\n---\nb: 2\n", "f:3:2: is not a JSON number"},
      {"FlowStyle", "{a: 1}\n---\n{b: 2}\n", "1:1 {\"a\":1}\n3:1 {\"b\":2}"},
      {"CutOff", "{\"a\": 1,\n\"b\"", "f:2:4: a colon is expected here"},
      {"Array", "[{\"a\\/\":1}]\n", "1:1 [{\"a/\":1}]"},
      {"Mark", "\xEF\xBB\xBF{\"a\":1}", "1:1 {\"a\":1}"},
      {"MarkInALaterDocument",
       "a: 1\n---\n\xEF\xBB\xBF"
       "b: 2\n",
       "1:1 {\"a\":1}\n3:1 {\"b\":2}"},
      {"LittleEndian", Wide("a: 1\n---\nb: 2\n", true), "1:1 {\"a\":1}\n3:1 {\"b\":2}"},
      {"BigEndian", Wide("{\"a\":1}", false), "1:1 {\"a\":1}"},
      {"HalfACharacter", Wide("a: b", true) + std::string("\x00\xD8", 2), "1:1 {\"a\":\"b\xEF\xBF\xBD\"}"},
      {"Latin1", "# \xE9\na: \xE9\n", "2:1 {\"a\":\"\xEF\xBF\xBD\"}"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Problems problems("f");
    const auto documents = ReadKubernetesDocuments(row.text, problems);
    EXPECT_EQ(documents.has_value(), problems.empty());
    std::vector<std::string> lines = problems.Lines();
    for (const Node& document : documents.value_or(std::vector<Node>())) {
      lines.push_back(std::to_string(document.at.line) + ":" + std::to_string(document.at.column) + " " +
                      WriteJson(document));
    }
    EXPECT_EQ(base::Join(lines, "\n"), row.expect);
  }
}

// Documents share one budget, and need not when each is dropped before the next.
TEST(KubernetesStream, LimitsAreForAllDocumentsOrForEach) {
  const std::string text = "[a, b]\n---\n[c, d]\n";
  const Limits limits{.bytes = 100, .depth = 2, .nodes = 5};
  Problems problems("f");
  EXPECT_FALSE(ReadKubernetesDocuments(text, problems, limits));
  EXPECT_EQ(base::Join(problems.Lines(), "\n"), "f:3:1: has more than 5 values");
  Problems none("f");
  KubernetesStream stream(text, none, limits, LimitScope::kDocument);
  EXPECT_TRUE(stream.Next());
  EXPECT_TRUE(stream.Next());
  EXPECT_FALSE(stream.Next());
  EXPECT_TRUE(none.empty());
  Problems longs("f");
  KubernetesStream of_long(text, longs, {.bytes = 3, .depth = 2, .nodes = 5}, LimitScope::kDocument);
  EXPECT_FALSE(of_long.Next());
  EXPECT_EQ(base::Join(longs.Lines(), "\n"), "f:1:1: this document is longer than 3 bytes");
}

}  // namespace
}  // namespace prefetch::doc::kubernetes_stream_test
