// Scalars of YAML 1.1 as go-yaml v2 resolves them. Internal to doc/.
#pragma once

#include <string>
#include <string_view>

#include "doc/node.h"

namespace prefetch::doc {

// One scalar as it was written.
struct WrittenScalar {
  std::string_view tag;   // empty: none
  std::string_view text;  // without quotes
  bool plain = false;     // may be something else than a string
};

enum class ScalarType { kNull, kBool, kInt, kUnsigned, kFloat, kString };

// Sets `node`'s kind and value; its text is the written one. `error` says why the tag and the text do not
// fit, and else stays empty.
ScalarType ResolveKubernetesScalar(const WrittenScalar& scalar, Node& node, std::string& error);

// Makes whole floats integers, as readers of JSON see them, and the text of others a number of JSON.
void FinishNumber(Node& node);

// The key that JSON has for a scalar; false if it has none (null, whole numbers of 64 bits).
bool KeyOfScalar(ScalarType type, const Node& node, std::string& key);

}  // namespace prefetch::doc
