#include "deploy/edit.h"

#include <algorithm>
#include <utility>

namespace prefetch::deploy {

doc::Node* Find(doc::Node& mapping, std::string_view key) {
  for (doc::Member& member : mapping.members) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

doc::Node* FindAt(doc::Node& root, const std::vector<std::string>& path) {
  doc::Node* at = &root;
  for (const std::string& key : path) {
    at = Find(*at, key);
    if (at == nullptr) return nullptr;
  }
  return at;
}

const doc::Node* FindAt(const doc::Node& root, const std::vector<std::string>& path) {
  const doc::Node* at = &root;
  for (const std::string& key : path) {
    at = at->Find(key);
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::string TextAt(const doc::Node& root, const std::vector<std::string>& path) {
  const doc::Node* found = FindAt(root, path);
  return found != nullptr && found->kind == doc::Node::Kind::kString ? found->text : std::string();
}

void Put(doc::Node& mapping, std::string_view key, doc::Node value) {
  if (doc::Node* old = Find(mapping, key)) {
    *old = std::move(value);
  } else {
    mapping.Set(std::string(key), std::move(value));
  }
}

void Remove(doc::Node& mapping, std::string_view key) {
  auto named = [&](const doc::Member& member) { return member.key == key; };
  mapping.members.erase(std::remove_if(mapping.members.begin(), mapping.members.end(), named),
                        mapping.members.end());
}

doc::Node& Sub(doc::Node& mapping, std::string_view key) {
  if (Find(mapping, key) == nullptr) mapping.Set(std::string(key), doc::Node::Mapping());
  return *Find(mapping, key);
}

}  // namespace prefetch::deploy
