// Small changes of a doc::Node in place. Internal to deploy/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doc/node.h"

namespace prefetch::deploy {

// The value under `key` of a mapping; nullptr if there is none, or this is no mapping.
doc::Node* Find(doc::Node& mapping, std::string_view key);
// The value at a path of keys; nullptr if any of them is not there.
doc::Node* FindAt(doc::Node& root, const std::vector<std::string>& path);
const doc::Node* FindAt(const doc::Node& root, const std::vector<std::string>& path);
// The string at a path; empty if there is none.
std::string TextAt(const doc::Node& root, const std::vector<std::string>& path);

// Puts a member in place of the one of that name, or at the end.
void Put(doc::Node& mapping, std::string_view key, doc::Node value);
void Remove(doc::Node& mapping, std::string_view key);
// The value under `key`, made an empty mapping if there is none.
doc::Node& Sub(doc::Node& mapping, std::string_view key);

// Calls `use` with each value that `path` leads to; sequences on the way are gone through.
template <typename Use>
void ForEachAt(doc::Node& node, const std::vector<std::string>& path, std::size_t from, const Use& use) {
  if (node.kind == doc::Node::Kind::kSequence) {
    for (doc::Node& item : node.items) ForEachAt(item, path, from, use);
    return;
  }
  if (from == path.size()) return use(node);
  if (doc::Node* next = Find(node, path[from])) ForEachAt(*next, path, from + 1, use);
}

}  // namespace prefetch::deploy
