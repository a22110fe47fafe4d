#include "system/commands_help.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <sstream>
#include <utility>

#include "base/text.h"
#include "rig/binary.h"
#include "rig/expect_ok.h"
#include "rig/process.h"

namespace prefetch::system::commands_help {
namespace {

// Headings of lists of commands.
const Words& Headings() {
  static const Words headings = {
      "Look at a node or a fleet", "Gate CI", "Lists", "Install", "More", "Commands", "Subcommands"};
  return headings;
}

void Walk(const Words& words, std::vector<Help>& all) {
  Help help{words, HelpOf(words), {}};
  help.below = SubcommandsIn(help.text);
  all.push_back(help);
  for (const std::string& name : help.below) {
    Words longer = words;
    longer.push_back(name);
    Walk(longer, all);
  }
}

}  // namespace

std::string Output(Words argv) {
  auto ran = rig::RunProgram({std::move(argv), {}}, std::chrono::seconds(30));
  EXPECT_OK(ran);
  if (!ran) return "";
  EXPECT_EQ(ran->exit, (rig::Exit{0, 0})) << ran->out << ran->err;
  EXPECT_EQ(ran->err, "");
  return ran->out;
}

Words WordsOf(std::string_view text) {
  std::istringstream in{std::string(text)};
  return {std::istream_iterator<std::string>(in), {}};
}

std::string HelpOf(Words words) {
  words.insert(words.begin(), rig::Prefetchctl());
  words.emplace_back("--help");
  return Output(words);
}

Words SubcommandsIn(const std::string& help) {
  Words below;
  bool listed = false;
  for (std::string_view line : base::Split(help, '\n')) {
    if (line.ends_with(':') && !line.starts_with(' ')) {
      line.remove_suffix(1);
      listed = std::find(Headings().begin(), Headings().end(), line) != Headings().end();
    } else if (line.empty()) {
      listed = false;
    } else if (listed && line.starts_with("  ") && line.substr(2, 1) != " ") {
      below.push_back(WordsOf(line).front());
    }
  }
  return below;
}

const std::vector<Help>& AllHelp() {
  static const std::vector<Help> all = [] {
    std::vector<Help> found;
    Walk({}, found);
    return found;
  }();
  return all;
}

std::string Title(const Words& words) {
  return base::Join(words, " ");
}

const Help* HelpFor(const Words& words) {
  static const Help verdict = {{"verdict"}, HelpOf({"verdict"}), {}};  // for programs, and on no first page
  const Help* best = words.size() > 1 && words[1] == "verdict" ? &verdict : nullptr;
  for (const Help& help : AllHelp()) {
    bool begins = help.words.size() < words.size() &&
                  std::equal(help.words.begin(), help.words.end(), words.begin() + 1);
    if (begins && (best == nullptr || help.words.size() > best->words.size())) best = &help;
  }
  return best;
}

}  // namespace prefetch::system::commands_help
