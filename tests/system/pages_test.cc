// The commands that the pages for people show, held against the help.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "system/commands_help.h"

namespace prefetch::system::pages_test {
namespace {

using commands_help::Help;
using commands_help::HelpFor;
using commands_help::Output;
using commands_help::Words;
using commands_help::WordsOf;

std::string Page(const std::string& name) {
  const char* source = std::getenv("PREFETCH_SOURCE");
  EXPECT_NE(source, nullptr);
  std::ifstream in(std::string(source == nullptr ? "." : source) + "/" + name);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_FALSE(text.empty()) << name;
  return base::ReplaceAll(text, "\\\n", " ");
}

// Every command of ours in a page: lines of ```sh blocks, up to a comment, a pipe or a redirection, and words
// in backticks.
std::vector<std::string> CommandsOf(const std::string& page) {
  std::vector<std::string> commands;
  bool shell = false, block = false;
  for (std::string_view line : base::Split(page, '\n')) {
    if (line.starts_with("```")) {
      shell = !block && line == "```sh";
      block = !block;
      continue;
    }
    std::string_view rest = line;
    while (!block && rest.find('`') != std::string_view::npos) {
      rest.remove_prefix(rest.find('`') + 1);
      std::size_t end = rest.find('`');
      if (end == std::string_view::npos) break;
      commands.emplace_back(rest.substr(0, std::min(end, rest.find(" | "))));
      rest.remove_prefix(end + 1);
    }
    if (!shell) continue;
    for (std::string_view part : base::Split(line.substr(0, line.find(" #")), '|')) {
      std::size_t begin = part.find("prefetch");
      if (begin == std::string_view::npos || (begin > 0 && part[begin - 1] != ' ' && part[begin - 1] != '('))
        continue;
      commands.emplace_back(part.substr(begin, part.find_first_of(">)", begin) - begin));
    }
  }
  std::erase_if(commands, [](const std::string& one) {
    return !one.starts_with("prefetchctl ") && !one.starts_with("prefetchd --");
  });
  return commands;
}

// README, the pages of lib and every page below deploy/.
std::vector<std::string> PagesForPeople() {
  std::vector<std::string> pages = {"README.md", "lib/README.md", "lib/DESIGN.md"};
  const std::filesystem::path root = std::getenv("PREFETCH_SOURCE");
  for (const auto& file : std::filesystem::recursive_directory_iterator(root / "deploy")) {
    if (file.path().extension() == ".md") pages.push_back(std::filesystem::relative(file.path(), root));
  }
  std::sort(pages.begin(), pages.end());
  return pages;
}

class Pages : public testing::TestWithParam<std::string> {};
TEST_P(Pages, ShowCommandsAndOptionsThatThereAre) {
  const std::string agent = Output({std::getenv("PREFETCHD"), "--help"});
  for (const std::string& command : CommandsOf(Page(GetParam()))) {
    SCOPED_TRACE(command);
    Words words = WordsOf(command);
    std::string options = agent;
    if (words[0] == "prefetchctl") {
      const Help* help = HelpFor(words);
      ASSERT_NE(help, nullptr);
      const bool names_no_other = words.size() == help->words.size() + 1 || help->below.empty() ||
                                  words[help->words.size() + 1].starts_with("-");
      EXPECT_TRUE(names_no_other) << "there is no such command";
      options = help->text.substr(0, help->text.find("\nExamples:\n"));
    }
    for (std::string word : words) {
      if (word.ends_with(',') || word.ends_with('.')) word.pop_back();
      if (!word.starts_with("-") || word == "-") continue;
      word = word.substr(0, word.find('='));
      const bool known =
          options.find(word + " ") != std::string::npos || options.find(word + ",") != std::string::npos ||
          options.find(word + "\n") != std::string::npos || options.find(word + "=") != std::string::npos;
      EXPECT_TRUE(known || word == "--help") << word << " is no option of it";
    }
  }
}
INSTANTIATE_TEST_SUITE_P(ForPeople, Pages, testing::ValuesIn(PagesForPeople()), [](const auto& row) {
  std::string name = row.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
});

TEST(PagesForPeople, HaveCommands) {
  EXPECT_GE(CommandsOf(Page("README.md")).size(), 9U);
  std::size_t guide = 0;
  for (const std::string& page : PagesForPeople()) {
    if (page.starts_with("deploy/docs/")) guide += CommandsOf(Page(page)).size();
  }
  EXPECT_GE(guide, 70U);
}

}  // namespace
}  // namespace prefetch::system::pages_test
