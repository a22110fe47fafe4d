// SecretNode: a document that may hold passwords, tokens or keys, wiped once they have been taken out.
#pragma once

#include <string_view>
#include <vector>

#include "base/secret.h"
#include "doc/node.h"

namespace prefetch::doc {

void WipeNode(doc::Node& node);

// All strings in a plugin's answer that may be secrets: not those of members whose names tell what they are
// (kind, apiVersion, user names, times).
std::vector<base::Secret> SecretStrings(std::string_view json);

// A tree that wipes itself when it goes.
struct SecretNode {
  explicit SecretNode(doc::Node tree) : node(std::move(tree)) {}
  SecretNode(const SecretNode&) = delete;
  SecretNode& operator=(const SecretNode&) = delete;
  ~SecretNode() { WipeNode(node); }

  doc::Node node;
};

}  // namespace prefetch::doc
