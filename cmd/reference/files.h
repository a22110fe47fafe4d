// The files below deploy/ that are made of the programs' own tables: reference pages and JSON Schemas. A test
// compares them with the committed ones.
#pragma once

#include <string>
#include <vector>

namespace prefetch::reference {

struct File {
  std::string path;  // below deploy/: "docs/reference/flags.md"
  std::string text;
};

// Returns all of them. Not for several threads: it builds prefetchctl's commands.
std::vector<File> Files();

}  // namespace prefetch::reference
