// The files below deploy/ that are made of the programs' own tables: JSON Schemas, and parts of the reference
// pages. A test compares them with the committed ones.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace prefetch::reference {

struct File {
  std::string path;  // below deploy/: "docs/reference/flags.md"
  std::string text;
};

// Returns all of them; the prose of the pages is that of the folder `deploy`. An error says which page cannot
// be read. Not for several threads: it builds prefetchctl's commands.
base::Result<std::vector<File>> Files(const std::string& deploy);

}  // namespace prefetch::reference
