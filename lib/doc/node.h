// Node: the content of a JSON or YAML document as a plain tree, in which everything knows its place.
// ValueAt and its kin: values at a path of keys.
// Put and its kin: small changes of a tree in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace prefetch::doc {

// Where something stands in its text, from 1. Columns count characters. {0, 0}: in no text.
struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  friend auto operator<=>(const Position&, const Position&) = default;
};

struct Member;

// A value: one scalar, sequence or mapping. Most code reads it through doc/reader.h, which checks types.
// Its text is ordinary memory: readers of a secret move it into a base::Secret and drop the tree.
struct Node {
  enum class Kind { kNull, kBool, kInt, kDouble, kString, kSequence, kMapping };

  Kind kind = Kind::kNull;
  // A scalar that was written without quotes (YAML only, or a JSON number): the string `yes` may be a boolean
  // for other readers of the same file, the string "yes" may not.
  bool plain = false;
  Position at;
  bool boolean = false;         // kBool
  std::int64_t integer = 0;     // kInt
  double number = 0;            // kDouble; also for an integer that does not fit 64 bits
  std::string text;             // kString: the string itself; other scalars: as they were written
  std::vector<Node> items;      // kSequence
  std::vector<Member> members;  // kMapping, in the order of the text; each key once

  // Nodes that stand in no text, for writing (doc/write.h).
  static Node String(std::string text);
  static Node Int(std::int64_t value);
  static Node Bool(bool value);
  static Node Sequence(std::vector<Node> items);
  static Node Strings(const std::vector<std::string>& texts);  // a sequence
  static Node Mapping(std::initializer_list<std::pair<const char*, Node>> members = {});
  // Appends a member to a mapping and gives it back, so that calls chain.
  Node& Set(std::string key, Node value);

  // The last member named `key`, exactly, or its value; nullptr if there is none, or this is no mapping.
  const Member* FindMember(std::string_view key) const;
  const Node* Find(std::string_view key) const;
};

struct Member {
  std::string key;
  Position at;  // of the key
  Node value;
};

// A Kind's name in messages: "a mapping".
const char* KindName(Node::Kind kind);

// Returns true if the content is the same, whatever the positions, the quotes and the spelling of numbers.
bool SameContent(const Node& a, const Node& b);

// The functions below read values at a path of keys, in trees of a known form, such as the API server's
// objects. Absent values, and those of another kind, count as nothing. To report mistakes, use doc/reader.h.
// Pure.

using Path = std::initializer_list<std::string_view>;  // {"metadata", "name"}; empty: the root itself

// Returns the value at the path; nullptr if any of the keys is missing.
const Node* ValueAt(const Node& root, Path path);
Node* ValueAt(Node& root, Path path);
// Returns the string at the path; empty if there is none.
std::string TextAt(const Node& root, Path path);
// Returns the items of the sequence at the path; an empty list if there is none.
const std::vector<Node>& ItemsAt(const Node& root, Path path);
// Returns the members of the mapping at the path; an empty list if there is none.
const std::vector<Member>& MembersAt(const Node& root, Path path);

// The functions below change a tree in place.

// Puts a member in place of the one of that name, or at the end.
void Put(Node& mapping, std::string_view key, Node value);
void Remove(Node& mapping, std::string_view key);
// Returns the value under `key`; adds an empty mapping if there is none.
Node& Sub(Node& mapping, std::string_view key);
// Returns the value under `key` of a mapping; nullptr if there is none, or this is no mapping.
Node* Find(Node& mapping, std::string_view key);

// Calls `use` with each value that the keys of `path` lead to, from the one at `from` on. Sequences on the
// way are gone through, and "*" is every key.
template <typename AnyNode, typename Use, typename Keys = std::vector<std::string>>
void ForEachAt(AnyNode& node, const Keys& path, std::size_t from, const Use& use) {
  if (node.kind == Node::Kind::kSequence) {
    for (auto& item : node.items) ForEachAt(item, path, from, use);
    return;
  }
  if (from == path.size()) return use(node);
  const std::string_view key = path[from];
  for (auto& member : node.members) {
    if (key == "*" || key == member.key) ForEachAt(member.value, path, from + 1, use);
  }
}

}  // namespace prefetch::doc
