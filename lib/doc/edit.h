// Small changes of a tree in place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doc/node.h"

namespace prefetch::doc {

// Puts a member in place of the one of that name, or at the end.
void Put(Node& mapping, std::string_view key, Node value);
void Remove(Node& mapping, std::string_view key);
// The value under `key`, made an empty mapping if there is none.
Node& Sub(Node& mapping, std::string_view key);
// The value under `key` of a mapping; nullptr if there is none, or this is no mapping.
Node* Find(Node& mapping, std::string_view key);

// Calls `use` with each value that `path` leads to; sequences on the way are gone through.
template <typename Use>
void ForEachAt(Node& node, const std::vector<std::string>& path, std::size_t from, const Use& use) {
  if (node.kind == Node::Kind::kSequence) {
    for (Node& item : node.items) ForEachAt(item, path, from, use);
    return;
  }
  if (from == path.size()) return use(node);
  if (Node* next = Find(node, path[from])) ForEachAt(*next, path, from + 1, use);
}

}  // namespace prefetch::doc
