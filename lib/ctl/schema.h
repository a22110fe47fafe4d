// prefetchctl schema and prefetchctl docs: the program's own reference.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "reference/pages.h"

namespace prefetch::ctl {

// Prints the JSON Schema of this document: "list", "agent", "status" or "check".
int PrintSchema(const std::string& document, std::ostream& out, std::ostream& err);

// Prints the page of this name, or writes all of them to the directory of this name, as NAME.md.
int PrintDocs(const std::string& target, const std::vector<reference::Page>& pages, std::ostream& out,
              std::ostream& err);

}  // namespace prefetch::ctl
