#include "credentials/lookup_words.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace prefetch::credentials {

namespace {

using doc::Node;

Node ToNode(const image::CredentialWords& credential) {
  return Node::Mapping({{"source", Node::String(credential.source)},
                        {"name", Node::String(credential.name)},
                        {"match", Node::String(credential.match)},
                        {"username", Node::String(credential.username)}});
}

Node ToNode(const image::ProviderWords& report) {
  return Node::Mapping({{"name", Node::String(report.name)},
                        {"matched", Node::Bool(report.matched)},
                        {"outcome", Node::String(report.outcome)},
                        {"error", Node::String(report.error)}});
}

template <typename T>
Node ToSequence(const std::vector<T>& items) {
  std::vector<Node> nodes;
  for (const T& item : items) nodes.push_back(ToNode(item));
  return Node::Sequence(std::move(nodes));
}

}  // namespace

LookupWords WordsOf(const Lookup& lookup) {
  LookupWords words{.repository = lookup.repository, .credentials = {}, .providers = {}};
  for (const Credential& credential : lookup.credentials) {
    words.credentials.push_back({std::string(SourceName(credential.source)), credential.name,
                                 credential.match, credential.auth.username});
  }
  for (const ProviderReport& report : lookup.providers) {
    words.providers.push_back(
        {report.name, ProviderOutcomeName(report.outcome), report.error, report.matched, report.pattern});
  }
  return words;
}

doc::Node LookupJson(const std::string& image, const LookupWords& lookup) {
  return Node::Mapping({{"image", Node::String(image)},
                        {"repository", Node::String(lookup.repository)},
                        {"credentials", ToSequence(lookup.credentials)},
                        {"providers", ToSequence(lookup.providers)}});
}

bool AnyProviderFailed(const Lookup& lookup) {
  return std::ranges::any_of(lookup.providers, [](const ProviderReport& provider) {
    return provider.matched && provider.outcome == ProviderOutcome::kError;
  });
}

bool LacksCredential(const Lookup& lookup) {
  return lookup.credentials.empty() && AnyProviderFailed(lookup);
}

std::string ProviderTrouble(const Lookup& lookup, bool for_pods) {
  std::string text;
  for (const ProviderReport& provider : lookup.providers) {
    if (!provider.matched || provider.outcome == ProviderOutcome::kOk) continue;
    text += (text.empty() ? "provider \"" : "; provider \"") + provider.name + "\" ";
    if (provider.outcome == ProviderOutcome::kEmpty) {
      text += "had none";
    } else if (provider.outcome == ProviderOutcome::kSkipped) {
      text += "was skipped: " + provider.error;
    } else {
      text += for_pods ? "failed" : "failed: " + provider.error;
    }
  }
  return text;
}

namespace {

using Row = base::TableRow;

std::string OutcomeText(const image::ProviderWords& report) {
  if (!report.matched) return "no entry of matchImages matches";
  const std::string matches = report.pattern + " matches";
  if (report.outcome == ProviderOutcomeName(ProviderOutcome::kOk)) return matches;
  if (report.outcome == ProviderOutcomeName(ProviderOutcome::kEmpty))
    return matches + ", it has no credentials for this image";
  return matches + ": " + report.error;
}

}  // namespace

// Numbers the credentials in the order in which a pull tries them. Then each provider shows why it gave one,
// or none.
std::string LookupText(const std::string& image, const LookupWords& lookup) {
  std::string text = image + "\n";
  std::vector<Row> attempts;
  for (const image::CredentialWords& credential : lookup.credentials) {
    const std::string& user = credential.username;
    attempts.push_back({std::to_string(attempts.size() + 1) + ".", credential.source, credential.name,
                        user.empty() ? "no user name" : "as " + user, "by " + credential.match});
  }
  text += attempts.empty() ? "  anonymous: no credential of this node matches\n"
                           : base::Table(std::move(attempts), "  ");
  std::vector<Row> providers;
  for (const image::ProviderWords& report : lookup.providers) {
    providers.push_back({"provider", report.name, report.outcome, OutcomeText(report)});
  }
  return text + base::Table(std::move(providers), "  ");
}

}  // namespace prefetch::credentials
