// Writes a Node as JSON or YAML: canonical forms and the CLI's output. Pure.
#pragma once

#include <string>

#include "doc/node.h"

namespace prefetch::doc {

// One line, no spaces, members in their order; the same tree gives the same bytes. Numbers as Node::text.
std::string WriteJson(const Node& node);
// The same, indented by two spaces, with a line break at the end.
std::string WritePrettyJson(const Node& node);
// Block style, with a line break at the end. Strings that any YAML reader could take for something else are
// in double quotes, unless they came without: 0400 stays the number that it is for Kubernetes. Texts of
// several lines stand as they are, as literal blocks, where that keeps every byte.
std::string WriteYaml(const Node& node);

}  // namespace prefetch::doc
