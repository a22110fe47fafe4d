// The committed pages of deploy/docs/reference and the schemas of deploy/schemas are those that the tool
// writes.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "config/settings.h"
#include "plan/caller.h"
#include "reference/files.h"
#include "reference/pages.h"
#include "reference/validator.h"
#include "rig/expect_has.h"
#include "status/check_document.h"
#include "text_of.h"

namespace prefetch::reference::committed_test {
namespace {

namespace fs = std::filesystem;

// By their paths below deploy/.
const std::map<std::string, std::string>& Written() {
  static const std::map<std::string, std::string> written = [] {
    std::map<std::string, std::string> files;
    const auto made = Files(tests::Root() + "/deploy");
    EXPECT_TRUE(made);
    for (const File& file : *made) files[file.path] = file.text;
    return files;
  }();
  return written;
}

TEST(Committed, FilesAreThoseOfTheTool) {
  EXPECT_EQ(Written().size(), 12U);
  for (const auto& [path, text] : Written()) {
    EXPECT_TRUE(::prefetch::tests::TextSoFar(fs::path(tests::Root()) / "deploy" / path) == text)
        << "deploy/" << path
        << " is stale; run: ninja -C build cmd/reference/reference && build/cmd/reference/reference deploy";
  }
}

// A page that loses its mark would keep an old table for ever.
TEST(Committed, EachBlockStandsInOnePageAndHasAnEnd) {
  std::multiset<std::string> names;
  std::size_t ends = 0;
  static const std::regex mark("<!-- (generated: )?([a-z ]+) -->");
  for (const auto& [path, text] : Written()) {
    if (!path.ends_with(".md")) continue;
    for (std::sregex_iterator match(text.begin(), text.end(), mark), end; match != end; ++match) {
      ends += (*match)[2] == "end" ? 1 : 0;
      if ((*match)[1].matched && (*match)[2] != "contents") names.insert((*match)[2]);
    }
  }
  std::multiset<std::string> made;
  for (const auto& [name, text] : BlocksOf({})) made.insert(name);
  EXPECT_EQ(names, made);
  EXPECT_EQ(ends, names.size() + 6) << "with those of the contents";
}

// Prose of the pages that repeats what the programs know.
TEST(Committed, ProseNamesWhatIsInForce) {
  const std::string api = Written().at("docs/reference/api.md");
  EXPECT_HAS(api, "curl --unix-socket " + std::string(config::kDefaultLocal) + " ");
  EXPECT_HAS(api, "audience `" + std::string(plan::kCallerAudience) + "`");
  EXPECT_HAS(api, "`" + std::string(plan::kFleetHeader) + ": Bearer`");
  EXPECT_HAS(api, "at most " + std::to_string(status::kMostQuestions) + " questions");
}

TEST(Pages, EveryCommandHasItsExitCodes) {
  std::size_t commands = 0;
  const std::string page = Written().at("docs/reference/exit-codes.md");
  for (std::string_view line : base::Split(page, '\n')) {
    if (!line.starts_with("| prefetch")) continue;
    commands++;
    const std::vector<std::string_view> cells = base::Split(line, '|');
    ASSERT_EQ(cells.size(), 8U) << line;
    EXPECT_FALSE(base::TrimSpace(cells[2]).empty()) << line;  // 0
    EXPECT_FALSE(base::TrimSpace(cells[4]).empty()) << line;  // 2
  }
  EXPECT_GE(commands, 20U);
  EXPECT_HAS(page, "| prefetchctl list check | valid |  | invalid |  | with --agent: the agent could not be");
}

}  // namespace
}  // namespace prefetch::reference::committed_test
