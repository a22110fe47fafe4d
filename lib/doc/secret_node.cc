#include "doc/secret_node.h"

#include <algorithm>
#include <array>

#include "doc/json.h"

namespace prefetch::doc {
namespace {

constexpr std::array<std::string_view, 6> kPublicMembers = {
    "kind", "apiVersion", "cacheKeyType", "cacheDuration", "username", "expirationTimestamp"};

void Collect(const Node& node, std::vector<base::Secret>& out) {
  if (node.kind == Node::Kind::kString) out.emplace_back(node.text);
  for (const Node& item : node.items) Collect(item, out);
  for (const Member& member : node.members) {
    if (std::find(kPublicMembers.begin(), kPublicMembers.end(), member.key) == kPublicMembers.end()) {
      Collect(member.value, out);
    }
  }
}

}  // namespace

void WipeNode(doc::Node& node) {
  base::WipeString(node.text);
  for (doc::Node& item : node.items) WipeNode(item);
  for (doc::Member& member : node.members) WipeNode(member.value);
}

std::vector<base::Secret> SecretStrings(std::string_view json) {
  std::vector<base::Secret> secrets;
  Problems ignored("output");
  if (auto tree = ParseJson(json, ignored, JsonRules::kLenient)) {
    const SecretNode root(*std::move(tree));
    Collect(root.node, secrets);
  }
  return secrets;
}

}  // namespace prefetch::doc
