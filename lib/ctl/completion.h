// Shell completion, from what a command line can have. Pure: CLI11's tree comes in as plain values.
#pragma once

#include <string>
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

}  // namespace prefetch::ctl
