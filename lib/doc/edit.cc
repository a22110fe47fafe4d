#include "doc/edit.h"

#include <utility>

#include "doc/path.h"

namespace prefetch::doc {

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
