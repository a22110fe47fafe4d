// prefetchctl schema and prefetchctl docs, as built: the committed schemas and pages are those that the
// program prints.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>

#include "base/text.h"
#include "rig/expect_ok.h"
#include "rig/process.h"
#include "rig/scratch.h"
#include "system/commands_help.h"

namespace prefetch::system::reference_command_test {
namespace {

namespace fs = std::filesystem;
using commands_help::Output;
using commands_help::Program;

fs::path Source() {
  const char* source = std::getenv("PREFETCH_SOURCE");
  return source == nullptr ? "." : source;
}

std::string Content(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// PREFETCH_ACCEPT=1 writes the file anew.
void ExpectCommitted(const fs::path& path, const std::string& text) {
  ASSERT_FALSE(text.empty()) << path;
  if (std::getenv("PREFETCH_ACCEPT") != nullptr) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  EXPECT_EQ(Content(path), text) << path << " is not what the program prints; PREFETCH_ACCEPT=1 writes it";
}

TEST(Reference, CommittedSchemasAreCurrent) {
  for (const char* document : {"list", "agent", "status", "check"}) {
    ExpectCommitted(Source() / "deploy/schemas" / (std::string(document) + ".json"),
                    Output({Program(), "schema", document}));
  }
}

// The pages that the program writes, by file name.
std::map<std::string, std::string> PagesWritten() {
  rig::Scratch scratch;
  const fs::path folder = scratch / "pages";
  fs::create_directory(folder);
  Output({Program(), "docs", folder});
  std::map<std::string, std::string> pages;
  for (const auto& file : fs::directory_iterator(folder)) {
    pages[file.path().filename()] = Content(file.path());
  }
  return pages;
}

TEST(Reference, CommittedPagesAreCurrent) {
  const std::map<std::string, std::string> pages = PagesWritten();
  EXPECT_EQ(pages.size(), 8U);
  for (const auto& [name, text] : pages) ExpectCommitted(Source() / "deploy/docs/reference" / name, text);
  // Each page with that sentence is made by the program, and no other page has it.
  for (const auto& file : fs::directory_iterator(Source() / "deploy/docs/reference")) {
    const bool generated = Content(file.path()).find("This page is generated") != std::string::npos;
    EXPECT_EQ(generated, pages.contains(file.path().filename())) << file.path();
  }
}

TEST(Reference, OnePageIsPrinted) {
  EXPECT_EQ(Output({Program(), "docs", "lint"}), PagesWritten()["lint.md"]);
}

TEST(Reference, EveryCommandHasItsExitCodes) {
  std::size_t commands = 0;
  const std::string page = PagesWritten()["exit-codes.md"];
  for (std::string_view line : base::Split(page, '\n')) {
    if (!line.starts_with("| prefetch")) continue;
    commands++;
    const std::vector<std::string_view> cells = base::Split(line, '|');
    ASSERT_EQ(cells.size(), 8U) << line;
    EXPECT_FALSE(base::TrimSpace(cells[2]).empty()) << line;  // 0
    EXPECT_FALSE(base::TrimSpace(cells[4]).empty()) << line;  // 2
  }
  EXPECT_GE(commands, 20U);
  EXPECT_NE(
      page.find("| prefetchctl list check | valid |  | invalid |  | with --agent: the agent could not be"),
      std::string::npos)
      << page;
}

TEST(Reference, TheAgentsHelpHasTheSameExitCodes) {
  const std::string page = PagesWritten()["exit-codes.md"];
  const std::string help =
      std::regex_replace(Output({std::getenv("PREFETCHD"), "--help"}), std::regex("\\s+"), " ");
  std::string row = page.substr(page.find("| prefetchd with"));
  row = row.substr(0, row.find('\n'));
  const std::vector<std::string_view> cells = base::Split(row, '|');
  ASSERT_EQ(cells.size(), 8U) << row;
  for (int code = 0; code <= 4; code++) {
    const std::string meaning(base::TrimSpace(cells[static_cast<std::size_t>(code) + 2]));
    EXPECT_NE(help.find(std::to_string(code) + " " + meaning), std::string::npos) << meaning;
  }
}

}  // namespace
}  // namespace prefetch::system::reference_command_test
