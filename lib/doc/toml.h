// ReadToml: a TOML document as a tree. Programs that have to treat each mistake as a runtime does read it by
// toml_rim.h instead.
#pragma once

#include <string_view>

#include "base/result.h"
#include "doc/node.h"

namespace prefetch::doc {

// Returns the document, whose keys are in the order of their bytes. Numbers with a fraction and times are
// null. Columns count bytes; one beyond ASCII counts as four. InvalidArgument has the line and never a
// value. Pure.
base::Result<Node> ReadToml(std::string_view text);

}  // namespace prefetch::doc
