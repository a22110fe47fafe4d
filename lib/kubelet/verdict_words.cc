#include "kubelet/verdict_words.h"

#include <vector>

#include "base/text.h"

namespace prefetch::kubelet {
namespace {

constexpr std::size_t kMostRepositories = 5;
constexpr std::size_t kLongestName = 300;

std::string Count(std::size_t n, const std::string& one) {
  return std::to_string(n) + " " + one + (n == 1 ? "" : "s");
}

VerdictResult ResultOf(Finding::Outcome outcome, image::PullPolicy policy) {
  switch (outcome) {
    case Finding::Outcome::kUse:
      return VerdictResult::kStarts;
    case Finding::Outcome::kMustPull:
      return policy == image::PullPolicy::kNever ? VerdictResult::kRefused : VerdictResult::kPulls;
    case Finding::Outcome::kUnknown:
      return VerdictResult::kUnknown;
  }
  return VerdictResult::kUnknown;
}

std::string Consequence(VerdictResult result) {
  switch (result) {
    case VerdictResult::kStarts:
      return "so kubelet uses the image that is here";
    case VerdictResult::kPulls:
      return "so kubelet asks the registry with the pod's and the node's credentials";
    case VerdictResult::kRefused:
      return "so kubelet refuses the container (ErrImageNeverPull)";
    case VerdictResult::kUnknown:
      return "so kubelet's decision cannot be predicted";
  }
  return "";
}

}  // namespace

std::string Shown(const std::string& name) {
  std::string text = base::Truncate(base::ToUtf8(name), kLongestName);
  // A name may come from a file that others write. Control characters could change what a terminal shows.
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return text;
}

std::string GranteeOf(const CredentialEntry& entry) {
  if (entry.node_pods_accessible) return "the node";
  std::vector<std::string> parts;
  if (!entry.secrets.empty()) parts.push_back(Count(entry.secrets.size(), "secret"));
  if (!entry.service_accounts.empty()) {
    parts.push_back(Count(entry.service_accounts.size(), "service account"));
  }
  return parts.empty() ? "nobody" : base::Join(parts, " and ");
}

std::string RepositoriesOf(const PulledRecord& record) {
  std::vector<std::string> parts;
  for (const auto& [repository, entry] : record.mapping) {
    // A record may have hundreds of repositories, and this is one sentence.
    if (parts.size() == kMostRepositories) break;
    parts.push_back(Shown(repository) + " (" + GranteeOf(entry) + ")");
  }
  std::string text = base::Join(parts, ", ");
  std::size_t left = record.mapping.size() - parts.size();
  return left == 0 ? text : text + " and " + std::to_string(left) + " more";
}

Verdict ToVerdict(const Finding& finding, image::PullPolicy policy) {
  VerdictResult result = ResultOf(finding.outcome, policy);
  std::string message = finding.why + ", " + Consequence(result);
  if (!finding.help.empty()) message += "; " + finding.help;
  return {result, finding.reason, finding.rule, message + "."};
}

}  // namespace prefetch::kubelet
