#include "credentials/lookup_words.h"

#include <utility>

#include "base/text.h"

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

namespace {

using Row = base::TableRow;

std::string OutcomeText(const ProviderReport& report) {
  if (!report.matched) return "no entry of matchImages matches";
  std::string matches = report.pattern + " matches";
  switch (report.outcome) {
    case ProviderOutcome::kOk:
      return matches;
    case ProviderOutcome::kEmpty:
      return matches + ", it has no credentials for this image";
    case ProviderOutcome::kError:
    case ProviderOutcome::kSkipped:
      return matches + ": " + report.error;
  }
  return matches;
}

}  // namespace

// Numbers the credentials in the order in which a pull tries them. Then each provider shows why it gave one,
// or none.
std::string LookupText(const std::string& image, const Lookup& lookup) {
  std::string text = image + "\n";
  std::vector<Row> attempts;
  for (const Credential& credential : lookup.credentials) {
    const std::string& user = credential.auth.username;
    attempts.push_back({std::to_string(attempts.size() + 1) + ".", std::string(SourceName(credential.source)),
                        credential.name, user.empty() ? "no user name" : "as " + user,
                        "by " + credential.match});
  }
  text += attempts.empty() ? "  anonymous: no credential of this node matches\n"
                           : base::Table(std::move(attempts), "  ");
  std::vector<Row> providers;
  for (const ProviderReport& report : lookup.providers) {
    providers.push_back(
        {"provider", report.name, std::string(ProviderOutcomeName(report.outcome)), OutcomeText(report)});
  }
  return text + base::Table(std::move(providers), "  ");
}

}  // namespace prefetch::credentials
