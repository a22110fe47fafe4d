// Pages of documentation: length, links, contents, sentences. None shows a patch by index.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "plan/reason.h"
#include "sentences.h"
#include "text_of.h"

namespace prefetch::docs::pages_test {
namespace {

namespace fs = std::filesystem;
using tests::SourceRoot;

constexpr std::size_t kMostWordsOfAPage = 1200;
constexpr std::size_t kMostWordsOfTheGuide = 30000;
constexpr std::size_t kMostPagesOfTheGuide = 24;
constexpr std::size_t kMostWordsOfTheMap = 2500;  // lib/README.md
constexpr double kMeanWordsOfASentence = 20;

std::string Text(const fs::path& page) {
  return tests::TextOf(SourceRoot() / page);
}

// Paths of Markdown files below a folder, relative to the root.
std::vector<fs::path> PagesBelow(const fs::path& folder) {
  std::vector<fs::path> pages;
  for (const auto& file : fs::recursive_directory_iterator(SourceRoot() / folder)) {
    if (file.path().extension() == ".md") pages.push_back(fs::relative(file.path(), SourceRoot()));
  }
  std::sort(pages.begin(), pages.end());
  return pages;
}

// README and the operators' guide: what is held to a reading level.
std::vector<fs::path> Guide() {
  std::vector<fs::path> pages = PagesBelow("deploy/docs");
  for (const char* page : {"deploy/README.md", "README.md", "CONTRIBUTING.md", "SECURITY.md"}) {
    if (fs::exists(SourceRoot() / page)) pages.emplace_back(page);
  }
  return pages;
}

// These, and pages that are longer: the architecture, the rules of others, and what the program writes
// itself.
std::vector<fs::path> Prose() {
  std::vector<fs::path> pages = Guide();
  for (const fs::path& page : PagesBelow("lib")) pages.push_back(page);
  pages.emplace_back("tests/README.md");
  return pages;
}

std::vector<fs::path> AllPages() {
  std::vector<fs::path> pages = PagesBelow("deploy");
  for (const auto& file : fs::directory_iterator(SourceRoot())) {
    if (file.path().extension() == ".md") pages.push_back(file.path().filename());
  }
  for (const char* page : {"lib/README.md", "lib/DESIGN.md", "tests/README.md", "tests/threats.md"}) {
    pages.emplace_back(page);
  }
  return pages;
}

TEST(Pages, NoSentenceIsLong) {
  for (const fs::path& page : Prose()) {
    for (const std::string& sentence : LongSentences(Text(page))) ADD_FAILURE() << page << ": " << sentence;
  }
}

TEST(Pages, SentencesAreShortOnAverage) {
  for (const fs::path& page : Prose()) {
    if (page.filename() == "RULES.md") continue;  // tables, and lists of names
    std::size_t words = 0;
    const std::vector<std::string> sentences = Sentences(Text(page), false);
    for (const std::string& sentence : sentences) words += Words(sentence);
    EXPECT_LE(static_cast<double>(words), kMeanWordsOfASentence * static_cast<double>(sentences.size()))
        << page;
  }
}

// Pages of deploy/docs/reference are tables to look something up in, and as long as what they list.
TEST(Pages, AreShort) {
  for (const fs::path& page : Guide()) {
    if (page.parent_path().filename() == "reference") continue;
    EXPECT_LE(Words(Text(page)), kMostWordsOfAPage) << page;
  }
}

// The guide with its reference.
TEST(Pages, AreFew) {
  const std::vector<fs::path> pages = PagesBelow("deploy/docs");
  EXPECT_LE(pages.size(), kMostPagesOfTheGuide);
  std::size_t words = 0;
  // Marks of generated parts are not shown.
  static const std::regex mark("<!--[^>]*-->");
  for (const fs::path& page : pages) words += Words(std::regex_replace(Text(page), mark, ""));
  EXPECT_LE(words, kMostWordsOfTheGuide) << "below deploy/docs: shorten a page that says something twice";
  EXPECT_LE(Words(Text("lib/README.md")), kMostWordsOfTheMap);
}

// ---- retry rules

// The words by which the table names a class of retries; nullptr: its reasons are in no row of their own.
const char* WordsOf(plan::Retry retry) {
  switch (retry) {
    case plan::Retry::kNoRetryRule:
      return nullptr;
    case plan::Retry::kAtOnce:
      return "at once when it is back";
    case plan::Retry::kTransient:
      return "first at once, then after a random time";
    case plan::Retry::kSlow:
      return "doubling to 1 h";
    case plan::Retry::kHourly:
      return "hourly";
    case plan::Retry::kNever:
      return "when the list changes or a retry is requested";
  }
  std::abort();
}

// A reason may stand in further rows, for the rules that it has besides.
TEST(Pages, TheRetryTableHasEachReasonOfAFailedPull) {
  const std::string page = Text("lib/README.md");
  const std::string section = page.substr(page.find("## Retry rules"));
  std::vector<std::string> rows;
  std::istringstream in{section};
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("| `")) rows.push_back(line);
  }
  for (const plan::ReasonRow& reason : plan::kReasons) {
    const char* words = WordsOf(reason.retry);
    // No pull fails for kWrongPlatform: plan/decide keeps such an image. Its row has other words.
    if (words == nullptr || reason.reason == plan::Reason::kWrongPlatform) continue;
    const std::string name = "`" + std::string(base::EnumName(reason.reason)) + "`";
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(),
                            [&](const std::string& row) {
                              return row.find(name) < row.find(" | ", 2) &&
                                     row.find(words) != std::string::npos;
                            }))
        << name << ": " << words;
  }
}

// ---- links

// As GitHub makes an anchor of a heading.
std::string Anchor(std::string_view heading) {
  std::string anchor;
  for (unsigned char c : heading) {
    if (std::isalnum(c) != 0 || c == '-' || c == '_') anchor += static_cast<char>(std::tolower(c));
    if (c == ' ') anchor += '-';
  }
  return anchor;
}

std::set<std::string> Anchors(const std::string& text) {
  std::set<std::string> anchors;
  const std::string prose = WithoutCode(text);
  for (std::string_view line : base::Split(prose, '\n')) {
    std::size_t level = line.find_first_not_of('#');
    if (level == 0 || level == std::string_view::npos || line[level] != ' ') continue;
    anchors.insert(Anchor(line.substr(level + 1)));
  }
  return anchors;
}

// Targets of the links of a page: (file, anchor), relative to the root.
std::vector<std::pair<fs::path, std::string>> Links(const fs::path& page) {
  static const std::regex link(R"(\]\(([^)\s]+)\))");
  std::vector<std::pair<fs::path, std::string>> links;
  const std::string text = WithoutCode(Text(page));
  for (std::sregex_iterator match(text.begin(), text.end(), link), none; match != none; ++match) {
    const std::string target = (*match)[1];
    if (target.find("://") != std::string::npos) continue;
    const std::size_t hash = target.find('#');
    const std::string file = target.substr(0, hash);
    links.emplace_back(file.empty() ? page : (page.parent_path() / file).lexically_normal(),
                       hash == std::string::npos ? "" : target.substr(hash + 1));
  }
  return links;
}

// Lines of prose that are longer than an editor shows; tables, code and lone links apart. Columns, not bytes.
std::vector<std::string> LongLines(const std::string& text) {
  constexpr std::size_t kMostColumns = 120;
  std::vector<std::string> lines;
  std::istringstream in(text);
  bool code = false;
  for (std::string line; std::getline(in, line);) {
    const std::string_view trimmed = base::TrimSpace(line);
    if (trimmed.starts_with("```")) code = !code;
    if (code || trimmed.starts_with("|") || trimmed.find(' ') == std::string_view::npos) continue;
    const auto columns = static_cast<std::size_t>(
        std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
    if (columns > kMostColumns) lines.push_back(line);
  }
  return lines;
}

TEST(Pages, HaveNoLongLine) {
  for (const fs::path& page : AllPages()) {
    if (page.string().starts_with("deploy/docs/reference/")) continue;  // a tool writes them
    for (const std::string& line : LongLines(Text(page))) ADD_FAILURE() << page << ": " << line;
  }
}

TEST(PagesCheck, FindsLongLines) {
  const std::string words(121, 'a');
  EXPECT_EQ(LongLines("a " + words + "\n").size(), 1U);
  EXPECT_EQ(LongLines("| " + words + " |\n```\na " + words + "\n```\n" + words + "\n").size(), 0U);
  std::string umlauts = "a ";
  for (int i = 0; i < 118; i++) umlauts += "\u00e4";
  EXPECT_EQ(LongLines(umlauts).size(), 0U);
}

TEST(Pages, LinksAndAnchorsResolve) {
  for (const fs::path& page : AllPages()) {
    for (const auto& [file, anchor] : Links(page)) {
      ASSERT_TRUE(fs::exists(SourceRoot() / file)) << page << " links " << file;
      if (anchor.empty()) continue;
      EXPECT_TRUE(Anchors(Text(file)).contains(anchor)) << page << " links " << file << "#" << anchor;
    }
  }
}

TEST(Pages, EachIsLinkedFromTheContents) {
  std::set<fs::path> linked = {"deploy/README.md"};
  for (const auto& [file, anchor] : Links("deploy/README.md")) linked.insert(file);
  for (const fs::path& page : PagesBelow("deploy")) EXPECT_TRUE(linked.contains(page)) << page;
}

// The contents at the top of a page name each chapter, in order.
TEST(Pages, BeginWithTheirContents) {
  std::vector<fs::path> pages = PagesBelow("deploy/docs");
  pages.emplace_back("lib/README.md");
  pages.emplace_back("lib/DESIGN.md");
  for (const fs::path& page : pages) {
    std::vector<std::string> chapters, contents;
    const std::string text = WithoutCode(Text(page));
    for (std::string_view line : base::Split(text, '\n')) {
      if (line.starts_with("## ")) chapters.push_back(Anchor(line.substr(3)));
    }
    if (chapters.size() < 2) continue;
    static const std::regex own(R"(\]\(#([^)]+)\))");
    const std::string top = text.substr(0, text.find("\n## "));
    for (std::sregex_iterator match(top.begin(), top.end(), own), none; match != none; ++match) {
      contents.push_back((*match)[1]);
    }
    EXPECT_EQ(contents, chapters) << page;
  }
}

// ---- what they show

// Indexes of lists in Kubernetes objects: in a JSON pointer, in brackets, after a dot, and in a value of helm
// --set.
std::vector<std::string> IndexesIn(const std::string& text) {
  static const std::string list =
      "\\b(?:args|command|env|envFrom|containers|initContainers|volumes|volumeMounts|ports|tolerations|"
      "groups|rules|"
      "imagePullSecrets|subjects|nodeSelectorTerms|matchExpressions|validations|ingress|egress|endpoints)";
  static const std::regex index(R"(/(?:spec|metadata|data)(?:/[^/\s`'"]+)*/[0-9]+(?![^/\s`'",}]))"
                                "|" +
                                list +
                                R"((?:[/.][0-9]+\b|\[[0-9]+\]))"
                                R"(|--set[-a-z]*[ =]\S*\[[0-9]+\])");
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), index), none; match != none; ++match) {
    const bool is_folder = match->prefix().str().ends_with("/run/");  // CRI-O's /run/containers/0
    if (!is_folder) found.push_back(match->str());
  }
  return found;
}

// A patch by index breaks with the next flag or variable that the manifests get.
TEST(Pages, PatchByNameNotByIndex) {
  std::vector<fs::path> files = AllPages();
  for (const char* folder : {"deploy/examples", "deploy/chart/templates"}) {
    for (const auto& file : fs::recursive_directory_iterator(SourceRoot() / folder)) {
      if (file.is_regular_file()) files.push_back(fs::relative(file.path(), SourceRoot()));
    }
  }
  for (const char* file : {"deploy/chart/values.yaml", "deploy/chart/Chart.yaml"}) files.emplace_back(file);
  for (const fs::path& file : files) EXPECT_EQ(IndexesIn(Text(file)), std::vector<std::string>{}) << file;
}

TEST(PagesCheck, FindsIndexes) {
  for (const char* text :
       {"- {op: add, path: /spec/template/spec/containers/0/args/-, value: x}",
        R"([{"op":"replace","path":"/spec/template/spec/containers/0/args/12","value":"x"}])",
        "kubectl patch daemonset prefetchd --type=json -p '[{\"op\":\"remove\",\"path\":\"/metadata/x/0\"}]'",
        "replace the expression in `/spec/groups/1/rules/1/expr` by a patch", "path: /args/12", "env/2",
        "fieldPaths: [spec.template.spec.containers.0.image]",
        "yq '.spec.template.spec.containers[0].args[3]'", "helm upgrade --set list.more[0].name=b.txt",
        "-patch-merge-key: spec.tolerations.1"}) {
    EXPECT_NE(IndexesIn(text), std::vector<std::string>{}) << text;
  }
}

TEST(PagesCheck, FindsNoIndexWhereNoneIs) {
  for (const char* text :
       {"path: /spec/template/spec/priorityClassName", "path: /spec/template/spec/containers",
        "images[3].image: is no reference", "/var/lib/kubelet/0", "docker.io/library/nginx:1.27",
        "/spec/replicas/24h", "/run/containers/0/auth.json",
        "fieldPaths: [spec.groups.[name=prefetchd].rules.[alert=X].expr]"}) {
    EXPECT_EQ(IndexesIn(text), std::vector<std::string>{}) << text;
  }
}

// Each reason of the page that the program makes has its row among the symptoms.
TEST(Troubleshooting, EveryReasonHasARow) {
  static const std::regex name(R"(^\| `([A-Za-z]+)` \|)", std::regex::multiline);
  const std::string reasons = Text("deploy/docs/reference/reasons.md");
  std::set<std::string> told;
  const std::string page = Text("deploy/docs/troubleshoot.md");
  for (std::string_view line : base::Split(page, '\n')) {
    if (!line.starts_with("| `")) continue;
    const std::string cell(line.substr(2, line.find('|', 2) - 2));
    static const std::regex word("`([A-Za-z]+)`");
    for (std::sregex_iterator match(cell.begin(), cell.end(), word), none; match != none; ++match) {
      EXPECT_TRUE(told.insert((*match)[1]).second) << (*match)[1] << " has two rows";
    }
  }
  std::set<std::string> known;
  for (std::sregex_iterator match(reasons.begin(), reasons.end(), name), none; match != none; ++match) {
    known.insert((*match)[1]);
  }
  EXPECT_GT(known.size(), 60U);
  EXPECT_EQ(told, known);
}

}  // namespace
}  // namespace prefetch::docs::pages_test
