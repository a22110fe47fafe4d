// The generated parts of the pages in deploy/docs/reference, made of the programs' own tables. Pure.
#pragma once

#include <map>
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

// Texts that are made of tables, by their names.
using Blocks = std::map<std::string, std::string>;
// `commands` are those of prefetchctl that run something.
Blocks BlocksOf(const std::vector<CommandHelp>& commands);

// Returns the page with its generated texts made anew: what stands between "<!-- generated: NAME -->" and
// "<!-- end -->". The block "contents" links to the page's chapters. All else is prose, and stays.
std::string GeneratedPage(const std::string& page, const Blocks& blocks);

}  // namespace prefetch::reference
