// A YAML scalar without quotes, by the core schema of YAML 1.2: null, boolean, integer, number, or text.
#pragma once

#include "doc/node.h"

namespace prefetch::doc {

// By the node's text. Octals as YAML 1.1 writes them are text: for YAML 1.2 they are decimals.
void ResolvePlain(Node& node);

}  // namespace prefetch::doc
