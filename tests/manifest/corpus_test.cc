// Manifests as they are in the world, and what lint has to say of each: tests/testdata/manifest.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "doc/yaml.h"
#include "golden.h"
#include "image/reference.h"
#include "manifest/lint_sample.h"
#include "rows.h"
#include "text_of.h"

namespace prefetch::manifest::lint::corpus_test {
namespace {

std::string Folder() {
  return tests::Testdata() + "/manifest";
}

std::vector<std::string> Corpus() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(Folder() + "/corpus")) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with(".expect")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The list as the linter takes it; config/ reads it for real in the tests of the program.
std::string List() {
  doc::Problems problems("images.yaml");
  auto root = doc::ParseYaml(tests::TextOf(Folder() + "/images.yaml"), problems);
  EXPECT_TRUE(root && problems.empty());
  std::string lines;
  for (const doc::Node& item : root->Find("images")->items) {
    lines += item.Find("image")->text;
    std::string more = item.Find("refresh") == nullptr ? "" : "|refreshed";
    if (const doc::Node* platforms = item.Find("platforms")) {
      for (const doc::Node& platform : platforms->items) more += (more.empty() ? "|" : ",") + platform.text;
    }
    if (const doc::Node* nodes = item.Find("nodeSelector")) {
      more = "|on=" + nodes->members[0].key + "," + nodes->members[0].value.text;
    }
    if (const doc::Node* as = item.Find("readyAs")) {
      more = "|as=" + as->Find("imagePullSecrets")->items[0].Find("name")->text;
    }
    lines += more + "\n";
  }
  return lines;
}

std::vector<std::string> Words(std::string_view text) {
  std::istringstream in{std::string(text)};
  return {std::istream_iterator<std::string>(in), {}};
}

// Returns the words behind `marker` in a line, up to the next comment.
std::vector<std::string> Behind(std::string_view line, std::string_view marker) {
  std::size_t at = line.find(marker);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + marker.size());
  return Words(line.substr(0, line.find('#')));
}

// "7 PF101" for YAML, "7:5 PF101" for JSON.
std::vector<std::string> Expected(const std::string& name, std::string_view text) {
  std::vector<std::string> expected;
  std::string beside = Folder() + "/corpus/" + name + ".expect";
  if (std::filesystem::exists(beside)) {
    std::string lines = tests::TextOf(beside);
    for (std::string_view line : base::Split(lines, '\n')) {
      if (!line.empty()) expected.emplace_back(line);
    }
    return expected;
  }
  std::size_t number = 0;
  for (std::string_view line : base::Split(text, '\n')) {
    number++;
    for (const std::string& id : Behind(line, "# expect:"))
      expected.push_back(std::to_string(number) + " " + id);
  }
  return expected;
}

ReadOptions Options(std::string_view text) {
  ReadOptions options;
  options.non_manifests = NonManifests::kSkip;
  for (const std::string& word : Behind(text.substr(0, text.find('\n')), "# with:")) {
    std::size_t equals = std::min(word.find('='), word.size());
    std::string key = word.substr(0, equals);
    std::string value = equals == word.size() ? "" : word.substr(equals + 1);
    if (key == "assume-always-pull") options.policy.assume_always_pull = true;
    if (key == "default-policy") options.policy.default_policy = base::EnumNamed<image::PullPolicy>(value);
    if (key == "default-check-policy")
      options.policy.default_check_policy = base::EnumNamed<image::PullPolicy>(value);
    if (key == "pod-template-path") options.pod_template_paths.push_back(value);
  }
  return options;
}

TEST_TABLE(CorpusTest, FindsWhatIsThereAndNothingElse, std::string) {
  std::string text = tests::TextOf(Folder() + "/corpus/" + row);
  bool json = row.ends_with(".json");
  std::vector<std::string> found;
  LintResult result = tests::LintFiles(List(), {{row, text}}, Options(text), *Selection::Make({}, {"PF102"}));
  for (const Finding& finding : result.findings) {
    if (finding.place.file != row) continue;
    std::string place = std::to_string(finding.place.at.line);
    if (json) place += ":" + std::to_string(finding.place.at.column);
    found.push_back(place + " " + std::string(RuleOf(finding.rule).id));
  }
  std::vector<std::string> expected = Expected(row, text);
  std::sort(found.begin(), found.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(found, expected);
}

INSTANTIATE_TEST_SUITE_P(All, CorpusTest, testing::ValuesIn(Corpus()), [](const auto& row) {
  std::string name = row.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

TEST(Corpus, IsLargeAndHasEveryRuleAboutManifests) {
  std::vector<std::string> names = Corpus();
  EXPECT_GE(names.size(), 60U);
  std::string all;
  for (const std::string& name : names) {
    for (const std::string& line : Expected(name, tests::TextOf(Folder() + "/corpus/" + name)))
      all += line + "\n";
  }
  for (const Rule& rule : kRules) {
    if (rule.rule == RuleId::kListedOnly) continue;
    EXPECT_NE(all.find(rule.id), std::string::npos) << rule.id;
  }
}

}  // namespace
}  // namespace prefetch::manifest::lint::corpus_test
