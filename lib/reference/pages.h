// The reference pages of deploy/docs/reference, made of the program's own tables. `prefetchctl docs` prints
// them; a test compares them with the committed files. Pure.
#pragma once

#include <string>
#include <vector>

namespace prefetch::reference {

struct CommandOption {
  std::string names;  // "-o,--output"
  std::string value;  // "table|json", "TEXT"; empty: it takes none
  std::string help;
};

// A command of prefetchctl, as its --help shows it.
struct CommandHelp {
  std::string words;  // "list check"
  std::string help;
  std::vector<CommandOption> options;  // arguments, too
  std::string footer;                  // with the exit codes and examples
};

struct Page {
  std::string name;  // "flags"
  std::string text;
};

// All of them. `commands` are those of prefetchctl that run something.
std::vector<Page> Pages(const std::vector<CommandHelp>& commands);

// The exit codes in a footer: ("0", "valid").
struct ExitMeaning {
  std::string code, meaning;
};
std::vector<ExitMeaning> ExitCodesIn(const std::string& footer);

}  // namespace prefetch::reference
