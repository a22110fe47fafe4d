// Puts items into sequences of a YAML text, and leaves all other lines, with their comments, as they are.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doc/node.h"

namespace prefetch::doc {

// An item of a sequence whose items have names: `initContainers`, `volumes`, `imagePullSecrets`.
struct NamedItem {
  const Node* mapping = nullptr;  // a part of the parsed text, which outlives this
  std::string key;                // of the sequence
  Node item;                      // a mapping with a `name`
  std::string before;             // a sequence without a key yet stands before this key of the mapping
};

// Puts each item in the place of the one of its name, or first. Returns nullopt if the text is not written in
// block style there (JSON, `{…}`, `[…]`), so that only the tree can be changed. Aliases and unusual indents
// can mislead it, so the caller must check: parse the answer, and compare it with the tree after PutNamed().
// Pure.
std::optional<std::string> PutIntoText(std::string_view text, const std::vector<NamedItem>& items);

// Puts `item` into a tree likewise.
void PutNamed(Node& mapping, std::string_view key, Node item, std::string_view before);

}  // namespace prefetch::doc
