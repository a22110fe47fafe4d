#include "credentials/lookup_words.h"

namespace prefetch::credentials {
namespace {

using doc::Node;

Node ToNode(const Credential& credential) {
  Node node = Node::Mapping();
  node.Set("source", Node::String(std::string(SourceName(credential.source))))
      .Set("name", Node::String(credential.name))
      .Set("match", Node::String(credential.match))
      .Set("username", Node::String(credential.auth.username));
  return node;
}

Node ToNode(const ProviderReport& report) {
  Node node = Node::Mapping();
  node.Set("name", Node::String(report.name))
      .Set("matched", Node::Bool(report.matched))
      .Set("outcome", Node::String(std::string(ProviderOutcomeName(report.outcome))))
      .Set("error", Node::String(report.error));
  return node;
}

template <typename T>
Node ToSequence(const std::vector<T>& items) {
  std::vector<Node> nodes;
  for (const T& item : items) nodes.push_back(ToNode(item));
  return Node::Sequence(std::move(nodes));
}

}  // namespace

doc::Node LookupJson(const std::string& image, const Lookup& lookup) {
  Node node = Node::Mapping();
  node.Set("image", Node::String(image))
      .Set("repository", Node::String(lookup.repository))
      .Set("credentials", ToSequence(lookup.credentials))
      .Set("providers", ToSequence(lookup.providers));
  return node;
}

}  // namespace prefetch::credentials
