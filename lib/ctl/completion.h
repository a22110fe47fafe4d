// Shell completion, from what a command line can have. Pure: CLI11's tree comes in as plain values.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace prefetch::ctl {

struct CompletionOption {
  std::vector<std::string> names;  // "-o", "--output"
  std::string help;
  bool takes_value = false;
  std::vector<std::string> values;  // all that it can be; empty: anything, so files are offered
};

// One command, or one that only holds others.
struct CompletionCommand {
  std::vector<std::string> words;  // {"list", "diff"}; none: the program itself
  std::string help;
  std::vector<CompletionOption> options;
  bool takes_arguments = false;        // beside options
  std::vector<std::string> arguments;  // all that they can be; empty: anything
};

// Scripts to be sourced, or put where the shell looks for them. `commands` are all, the program itself first.
std::string BashCompletion(const std::vector<CompletionCommand>& commands);
std::string ZshCompletion(const std::vector<CompletionCommand>& commands);
std::string FishCompletion(const std::vector<CompletionCommand>& commands);

// The words that may stand for the last one of a command line.
struct Completions {
  std::vector<std::pair<std::string, std::string>> words;  // with their help
  bool files = false;                                      // a file's name may stand there
};
// `words` follow the program's name. The last one is as far as it was typed, and may be empty.
Completions CompletionsOf(const std::vector<std::string>& words,
                          const std::vector<CompletionCommand>& commands);

// Returns the same in the form that kubectl expects of a plugin's kubectl_complete-NAME: a word and its help
// on each line, then what else the shell may do (https://github.com/spf13/cobra, ShellCompDirective).
std::string PluginCompletion(const Completions& completions);

}  // namespace prefetch::ctl
