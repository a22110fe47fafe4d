#include "doc/secret_node.h"

#include "base/secret.h"

namespace prefetch::doc {

void WipeNode(doc::Node& node) {
  base::WipeString(node.text);
  for (doc::Node& item : node.items) WipeNode(item);
  for (doc::Member& member : node.members) WipeNode(member.value);
}

}  // namespace prefetch::doc
