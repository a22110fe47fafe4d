// The pages of rules (lib/*/RULES.md), held against the sources that cite them and the tests that hold them.
// Comments rely on things in this repository, or name their place outside of it.
#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/text.h"

namespace prefetch::docs::rules_test {
namespace {

namespace fs = std::filesystem;
using Faults = std::vector<std::string>;

struct Rule {
  char page = 0;  // the letter of its page
  int number = 0;
  std::string source;
  std::vector<std::string> tests;  // "folder/Suite.Name"

  std::string Id() const { return page + std::to_string(number); }
};

struct Tree {
  std::map<std::string, std::string> sources;  // by path
  std::map<std::string, std::string> pages;
};

constexpr std::string_view kLetters = "KCAR";

bool IsWordPart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// "K12" at `at` of `text`, and nothing that goes on: the number; 0 for what is none.
int NumberAt(std::string_view text, std::size_t at) {
  if (kLetters.find(text[at]) == std::string_view::npos || (at > 0 && IsWordPart(text[at - 1]))) return 0;
  std::size_t end = at + 1;
  while (end < text.size() && IsDigit(text[end])) end++;
  if (end == at + 1 || end > at + 4 || text[at + 1] == '0') return 0;
  if (end < text.size() && IsWordPart(text[end])) return 0;
  if (text.substr(end).starts_with(" control")) return 0;  // C1 control characters
  return std::atoi(std::string(text.substr(at + 1, end - at - 1)).c_str());
}

// All ids in `text`, those between "K2 to K5" too.
std::set<std::string> IdsIn(std::string_view text) {
  std::set<std::string> ids;
  char range_of = 0;
  int from = 0;
  for (std::size_t at = 0; at < text.size(); at++) {
    const int number = NumberAt(text, at);
    if (number == 0) continue;
    const char letter = text[at];
    const int first = range_of == letter ? from : number;
    for (int i = first; i <= number; i++) ids.insert(letter + std::to_string(i));
    std::string id = letter + std::to_string(number);
    range_of = text.substr(at + id.size()).starts_with(" to ") ? letter : '\0';
    from = number;
  }
  return ids;
}

// The comments of a source, one line after the other, as one text.
std::string CommentsOf(const std::string& path, std::string_view text) {
  const bool cpp = path.ends_with(".h") || path.ends_with(".cc") || path.ends_with(".proto");
  std::string comments;
  for (std::string_view line : base::Split(text, '\n')) {
    std::size_t at = line.find(cpp ? "//" : "#");
    if (at != std::string_view::npos) comments.append(line.substr(at + (cpp ? 2 : 1)));
  }
  return comments;
}

// Is `word` followed by a number, as in a table's row or a page's section?
bool HasNumbered(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    std::size_t end = at + word.size();
    if (end < line.size() && line[end] == 's') end++;
    if (end + 1 >= line.size() || line[end] != ' ' || !IsDigit(line[end + 1])) continue;
    if (at > 0 && IsWordPart(line[at - 1])) continue;
    const std::string_view before = line.substr(0, at);
    if (before.rfind("RFC ") != std::string_view::npos) continue;  // everybody has those
    return true;
  }
  return false;
}

// (1) Pages, rows and sections that a reader of this repository cannot open.
Faults AbsentPages(const Tree& tree) {
  static constexpr std::array<std::string_view, 4> kPages = {"design", "evidence", "bench-facts", "screens"};
  Faults faults;
  for (const auto& [path, text] : tree.sources) {
    int number = 0;
    for (std::string_view line : base::Split(text, '\n')) {
      number++;
      bool absent = false;
      for (std::string_view word : {"section", "Section", "row", "Row"}) absent |= HasNumbered(line, word);
      for (std::string_view page : kPages) {
        absent |= line.find(std::string(page) + ".md") != std::string_view::npos;
      }
      std::size_t folder = line.find("spec/");
      absent |= folder != std::string_view::npos && line.find(".md", folder) != std::string_view::npos;
      if (absent) faults.push_back(path + ":" + std::to_string(number) + " cites a page that is not here");
    }
  }
  return faults;
}

// Every second piece of `text` as it is cut at '`'.
std::vector<std::string> InBackticks(std::string_view text) {
  std::vector<std::string> found;
  std::vector<std::string_view> pieces = base::Split(text, '`');
  for (std::size_t i = 1; i < pieces.size(); i += 2) found.emplace_back(pieces[i]);
  return found;
}

Rule RuleFrom(const std::string& text) {
  Rule rule{.page = text[4], .number = NumberAt(text, 4)};
  const std::size_t source = text.find("*Source:* "), test = text.find("*Test:* ");
  if (source < test) rule.source = base::TrimSpace(text.substr(source, test - source).substr(9));
  if (test != std::string::npos) rule.tests = InBackticks(text.substr(test));
  return rule;
}

// A rule begins with "- **K12** "; its lines are indented.
std::vector<Rule> RulesOf(std::string_view page) {
  std::vector<Rule> rules;
  std::string text;
  for (std::string_view line : base::Split(page, '\n')) {
    if (!text.empty() && line.starts_with("  ")) {
      text.append(line);
      continue;
    }
    if (!text.empty()) rules.push_back(RuleFrom(text));
    text = line.starts_with("- **") ? line : "";
  }
  if (!text.empty()) rules.push_back(RuleFrom(text));
  return rules;
}

// "folder/Suite.Name" of every test.
std::set<std::string> TestsOf(const Tree& tree) {
  std::set<std::string> tests;
  for (const auto& [path, text] : tree.sources) {
    if (!path.starts_with("tests/") || !path.ends_with(".cc")) continue;
    const std::string folder = path.substr(6, path.find('/', 6) - 6) + "/";
    for (std::size_t at = text.find("\nTEST"); at != std::string::npos; at = text.find("\nTEST", at + 1)) {
      const std::size_t open = text.find('(', at), end = text.find(')', at);
      const std::set<std::string> macros = {"TEST", "TEST_F", "TEST_P", "TEST_TABLE", "TEST_TABLE_F"};
      if (end == std::string::npos || !macros.contains(text.substr(at + 1, open - at - 1))) continue;
      std::vector<std::string_view> names =
          base::Split(std::string_view(text).substr(open + 1, end - open - 1), ',');
      if (names.size() < 2) continue;
      tests.insert(folder + std::string(names[0]) + "." + std::string(base::TrimSpace(names[1])));
    }
  }
  return tests;
}

// (2) Every id that is cited exists, and every rule is cited by a source.
Faults Citations(const Tree& tree) {
  Faults faults;
  std::set<std::string> rules, cited;
  for (const auto& [path, text] : tree.pages) {
    for (const Rule& rule : RulesOf(text)) rules.insert(rule.Id());
  }
  for (const auto& [path, text] : tree.sources) {
    for (const std::string& id : IdsIn(CommentsOf(path, text))) {
      cited.insert(id);
      if (!rules.contains(id)) faults.push_back(path + " cites " + id + ", which is no rule");
    }
  }
  for (const auto& [path, text] : tree.pages) {
    for (const std::string& id : IdsIn(text)) {
      if (!rules.contains(id)) faults.push_back(path + " names " + id + ", which is no rule");
    }
  }
  for (const std::string& id : rules) {
    if (!cited.contains(id)) faults.push_back("nothing cites " + id);
  }
  return faults;
}

// (3) Every rule has a source outside, and tests that exist.
Faults Grounds(const Tree& tree) {
  Faults faults;
  const std::set<std::string> tests = TestsOf(tree);
  for (const auto& [path, text] : tree.pages) {
    for (const Rule& rule : RulesOf(text)) {
      if (rule.source.size() < 5) faults.push_back(rule.Id() + " names no source");
      if (rule.tests.empty()) faults.push_back(rule.Id() + " names no test");
      for (const std::string& test : rule.tests) {
        if (!tests.contains(test)) faults.push_back(rule.Id() + " names " + test + ", which is no test");
      }
    }
  }
  return faults;
}

// (4) A page has one letter, and its numbers rise.
Faults Order(const Tree& tree) {
  Faults faults;
  std::map<char, std::string> page_of;
  for (const auto& [path, text] : tree.pages) {
    int last = 0;
    for (const Rule& rule : RulesOf(text)) {
      if (rule.number == 0) {
        faults.push_back(path + " has a rule without an id");
        continue;
      }
      if (page_of.emplace(rule.page, path).first->second != path)
        faults.push_back(rule.Id() + " is on two pages");
      if (rule.number <= last) faults.push_back(rule.Id() + " is out of order");
      last = rule.number;
    }
  }
  return faults;
}

bool IsRead(const fs::path& path) {
  static const std::set<std::string> kKinds = {".h",  ".cc", ".proto", ".py",   ".build",
                                               ".md", ".sh", ".yaml",  ".json", ""};
  return kKinds.contains(path.extension());
}

const Tree& Real() {
  static const Tree tree = [] {
    Tree read;
    const fs::path root = std::getenv("PREFETCH_SOURCE");
    for (const char* folder : {"lib", "cmd", "tests", "deploy"}) {
      for (auto entry = fs::recursive_directory_iterator(root / folder); entry != fs::end(entry); ++entry) {
        const std::string name = entry->path().filename();
        if (entry->is_directory() && (name == "testdata" || name == "corpus"))
          entry.disable_recursion_pending();
        if (!entry->is_regular_file() || !IsRead(entry->path())) continue;
        auto text = base::ReadFile(entry->path(), 1 << 22);
        if (!text) continue;
        (name == "RULES.md" ? read.pages : read.sources)[fs::relative(entry->path(), root)] = *text;
      }
    }
    return read;
  }();
  return tree;
}

TEST(Rules, NothingCitesAPageThatIsNotHere) {
  EXPECT_EQ(AbsentPages(Real()), Faults{});
}

TEST(Rules, EachIsCitedAndWhatIsCitedIsOne) {
  EXPECT_EQ(Citations(Real()), Faults{});
}

TEST(Rules, EachHasItsSourceAndItsTest) {
  EXPECT_EQ(Grounds(Real()), Faults{});
}

TEST(Rules, AreInOrder) {
  EXPECT_EQ(Real().pages.size(), 4U);
  EXPECT_EQ(Order(Real()), Faults{});
}

// A tree on which the checks themselves are tested.
Tree Small() {
  return {
      .sources = {{"lib/kubelet/a.h", "// One (K1), and more: K2 to K3.\nint K9;  // RFC 9110 section 5.1\n"},
                  {"tests/kubelet/a_test.cc", "\nTEST_P(ATest,\n       Row) {}\n"}},
      .pages = {
          {"lib/kubelet/RULES.md",
           "- **K1** One.\n  *Source:* KEP-1.\n  *Test:* `kubelet/ATest.Row`.\n"
           "- **K2** As K1.\n  *Source:* KEP-2.\n  *Test:* `kubelet/ATest.Row`.\n\n## More\n\n"
           "- **K3** Three.\n  *Source:* KEP-3.\n  *Test:* `kubelet/ATest.Row`,\n  `kubelet/ATest.Row`.\n"}}};
}

void Replace(std::string& text, const std::string& old, const std::string& now) {
  const std::size_t at = text.find(old);
  ASSERT_NE(at, std::string::npos) << old;
  text.replace(at, old.size(), now);
}

TEST(RulesCheck, FindsNothingWhereNothingIsWrong) {
  EXPECT_EQ(AbsentPages(Small()), Faults{});
  EXPECT_EQ(Citations(Small()), Faults{});
  EXPECT_EQ(Grounds(Small()), Faults{});
  EXPECT_EQ(Order(Small()), Faults{});
}

TEST(RulesCheck, FindsPagesThatAreNotHere) {
  for (std::string line :
       {"// as design@.md has it", "// (spe@c/cri.md 3.7)", "# see evidence@.md", "// s@ection 3.4",
        "// S@ections 2 and 3", "// evidence r@ow 35", "// R@ows 1 to 3"}) {
    std::erase(line, '@');  // so that this file cites nothing itself
    Tree tree = Small();
    tree.sources["lib/x.cc"] = "int x;\n" + line + "\n";
    EXPECT_EQ(AbsentPages(tree), Faults{"lib/x.cc:2 cites a page that is not here"}) << line;
  }
}

TEST(RulesCheck, FindsIdsThatAreNone) {
  Tree tree = Small();
  tree.sources["lib/x.cc"] = "// K2 to K4, and R1\n";
  EXPECT_EQ(Citations(tree),
            (Faults{"lib/x.cc cites K4, which is no rule", "lib/x.cc cites R1, which is no rule"}));
  tree = Small();
  Replace(tree.pages.begin()->second, "As K1", "As K7");
  EXPECT_EQ(Citations(tree), Faults{"lib/kubelet/RULES.md names K7, which is no rule"});
}

TEST(RulesCheck, FindsRulesThatNobodyCites) {
  Tree tree = Small();
  Replace(tree.sources["lib/kubelet/a.h"], "K2 to K3", "K2");
  EXPECT_EQ(Citations(tree), Faults{"nothing cites K3"});
}

TEST(RulesCheck, FindsRulesWithoutGrounds) {
  Tree tree = Small();
  Replace(tree.pages.begin()->second, "  *Source:* KEP-1.\n", "");
  Replace(tree.pages.begin()->second, "  *Source:* KEP-2.\n  *Test:* `kubelet/ATest.Row`.\n",
          "  *Source:* KEP-2.\n");
  Replace(tree.pages.begin()->second, "Row`,", "Gone`,");
  EXPECT_EQ(Grounds(tree), (Faults{"K1 names no source", "K2 names no test",
                                   "K3 names kubelet/ATest.Gone, which is no test"}));
}

TEST(RulesCheck, FindsIdsOutOfOrder) {
  Tree tree = Small();
  Replace(tree.pages.begin()->second, "**K3**", "**K2**");
  tree.pages["lib/cri/RULES.md"] = "- **K5** One.\n- **Two** has none.\n";
  EXPECT_EQ(Order(tree), (Faults{"lib/cri/RULES.md has a rule without an id", "K1 is on two pages",
                                 "K2 is on two pages", "K2 is on two pages", "K2 is out of order"}));
}

}  // namespace
}  // namespace prefetch::docs::rules_test
