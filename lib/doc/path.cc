#include "doc/path.h"

namespace prefetch::doc {

const Node* ValueAt(const Node& root, Path path) {
  const Node* value = &root;
  for (std::string_view key : path) {
    value = value->Find(std::string(key));
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

}  // namespace prefetch::doc
