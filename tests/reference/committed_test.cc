// The committed pages of deploy/docs/reference and the schemas of deploy/schemas are those that the tool
// writes.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "reference/files.h"
#include "reference/validator.h"
#include "rig/expect_has.h"
#include "text_of.h"

namespace prefetch::reference::committed_test {
namespace {

namespace fs = std::filesystem;

// By their paths below deploy/.
const std::map<std::string, std::string>& Written() {
  static const std::map<std::string, std::string> written = [] {
    std::map<std::string, std::string> files;
    for (const File& file : Files()) files[file.path] = file.text;
    return files;
  }();
  return written;
}

TEST(Committed, FilesAreThoseOfTheTool) {
  EXPECT_EQ(Written().size(), 12U);
  for (const auto& [path, text] : Written()) {
    EXPECT_TRUE(tests::TextSoFar(fs::path(tests::Root()) / "deploy" / path) == text)
        << "deploy/" << path
        << " is stale; run: ninja -C build cmd/reference/reference && build/cmd/reference/reference deploy";
  }
}

TEST(Committed, NoOtherPageSaysThatItIsGenerated) {
  for (const auto& file : fs::directory_iterator(tests::Root() + "/deploy/docs/reference")) {
    const bool generated = tests::TextSoFar(file.path()).find("This page is generated") != std::string::npos;
    EXPECT_EQ(generated, Written().contains("docs/reference/" + file.path().filename().string()))
        << file.path();
  }
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
