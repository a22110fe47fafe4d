// The reference pages of deploy/docs/reference, made of the programs' own tables. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "reference/files.h"

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

// Returns all pages. `commands` are those of prefetchctl that run something.
std::vector<File> Pages(const std::vector<CommandHelp>& commands);

// The table of the agent's endpoints.
struct EndpointRow {
  const char* method;
  const char* path;  // "/readyz"
  const char* parameters;
  const char* answer;
  const char* audience;
};
std::span<const EndpointRow> EndpointRows();

}  // namespace prefetch::reference
