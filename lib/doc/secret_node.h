// SecretNode: a document that may hold passwords, tokens or keys, wiped once they have been taken out.
#pragma once

#include "doc/node.h"

namespace prefetch::doc {

void WipeNode(doc::Node& node);

// A tree that wipes itself when it goes.
struct SecretNode {
  explicit SecretNode(doc::Node tree) : node(std::move(tree)) {}
  SecretNode(const SecretNode&) = delete;
  SecretNode& operator=(const SecretNode&) = delete;
  ~SecretNode() { WipeNode(node); }

  doc::Node node;
};

}  // namespace prefetch::doc
