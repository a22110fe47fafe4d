// The two programs as people call them: what they print, and the help of each command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace prefetch::system::commands_help {

using Words = std::vector<std::string>;

// Returns the output of a call that ends well.
std::string Output(Words argv);
Words WordsOf(std::string_view text);

struct Help {
  Words words;  // of the command
  std::string text;
  Words below;  // its subcommands
};
const std::vector<Help>& AllHelp();
std::string HelpOf(Words words);
// The words that begin the lines below the headings of lists of commands.
Words SubcommandsIn(const std::string& help);
// The help of the command that the words begin with: the longest that there is.
const Help* HelpFor(const Words& words);
std::string Title(const Words& words);

}  // namespace prefetch::system::commands_help
