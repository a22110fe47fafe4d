#include "doc/node.h"

#include <algorithm>

#include "base/enum_name.h"

namespace prefetch::doc {

Node Node::String(std::string text) {
  Node node;
  node.kind = Kind::kString;
  node.text = std::move(text);
  return node;
}

Node Node::Int(std::int64_t value) {
  Node node;
  node.kind = Kind::kInt;
  node.plain = true;
  node.integer = value;
  node.text = std::to_string(value);
  return node;
}

Node Node::Bool(bool value) {
  Node node;
  node.kind = Kind::kBool;
  node.plain = true;
  node.boolean = value;
  node.text = value ? "true" : "false";
  return node;
}

Node Node::Sequence(std::vector<Node> items) {
  Node node;
  node.kind = Kind::kSequence;
  node.items = std::move(items);
  return node;
}

Node Node::Strings(const std::vector<std::string>& texts) {
  std::vector<Node> items;
  for (const std::string& text : texts) items.push_back(String(text));
  return Sequence(std::move(items));
}

Node Node::Mapping(std::initializer_list<std::pair<const char*, Node>> members) {
  Node node;
  node.kind = Kind::kMapping;
  for (const auto& [key, value] : members) node.Set(key, value);
  return node;
}

Node& Node::Set(std::string key, Node value) {
  members.push_back({std::move(key), {}, std::move(value)});
  return *this;
}

const Member* Node::FindMember(std::string_view key) const {
  // The last of duplicate keys counts, as in most parsers.
  auto found =
      std::find_if(members.rbegin(), members.rend(), [&](const Member& member) { return member.key == key; });
  return found == members.rend() ? nullptr : &*found;
}

const Node* Node::Find(std::string_view key) const {
  const Member* member = FindMember(key);
  return member == nullptr ? nullptr : &member->value;
}

const char* KindName(Node::Kind kind) {
  return base::EnumWord(
      kind, {"null", "a boolean", "an integer", "a number", "a string", "a sequence", "a mapping"});
}

bool SameContent(const Node& a, const Node& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Node::Kind::kNull:
      return true;
    case Node::Kind::kBool:
      return a.boolean == b.boolean;
    case Node::Kind::kInt:
      return a.integer == b.integer;
    case Node::Kind::kDouble:
      return a.number == b.number;
    case Node::Kind::kString:
      return a.text == b.text;
    case Node::Kind::kSequence:
      return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), SameContent);
    case Node::Kind::kMapping:
      return std::equal(
          a.members.begin(), a.members.end(), b.members.begin(), b.members.end(),
          [](const Member& x, const Member& y) { return x.key == y.key && SameContent(x.value, y.value); });
  }
  return false;
}

const Node* ValueAt(const Node& root, Path path) {
  const Node* value = &root;
  for (std::string_view key : path) {
    value = value->Find(key);
    if (value == nullptr) return nullptr;
  }
  return value;
}

Node* ValueAt(Node& root, Path path) {
  // Safe, since `root` itself is not const.
  return const_cast<Node*>(ValueAt(static_cast<const Node&>(root), path));
}

std::string TextAt(const Node& root, Path path) {
  const Node* value = ValueAt(root, path);
  return value != nullptr && value->kind == Node::Kind::kString ? value->text : "";
}

const std::vector<Node>& ItemsAt(const Node& root, Path path) {
  static const std::vector<Node> kNone;
  const Node* value = ValueAt(root, path);
  return value == nullptr ? kNone : value->items;
}

const std::vector<Member>& MembersAt(const Node& root, Path path) {
  static const std::vector<Member> kNone;
  const Node* value = ValueAt(root, path);
  return value == nullptr ? kNone : value->members;
}

void Put(Node& mapping, std::string_view key, Node value) {
  if (Node* old = Find(mapping, key)) {
    *old = std::move(value);
  } else {
    mapping.Set(std::string(key), std::move(value));
  }
}

void Remove(Node& mapping, std::string_view key) {
  std::erase_if(mapping.members, [&](const Member& member) { return member.key == key; });
}

Node& Sub(Node& mapping, std::string_view key) {
  if (Find(mapping, key) == nullptr) mapping.Set(std::string(key), Node::Mapping());
  return *Find(mapping, key);
}

Node* Find(Node& mapping, std::string_view key) {
  return ValueAt(mapping, {key});
}

}  // namespace prefetch::doc
