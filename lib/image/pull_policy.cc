#include "image/pull_policy.h"

#include <array>

namespace prefetch::image {

std::string_view PullPolicyName(PullPolicy policy) {
  switch (policy) {
    case PullPolicy::kNever:
      return "Never";
    case PullPolicy::kIfNotPresent:
      return "IfNotPresent";
    case PullPolicy::kAlways:
      return "Always";
  }
  return "";
}

// Compares with PullPolicyName, so that both directions have the same words.
std::optional<PullPolicy> ParsePullPolicy(std::string_view exact_name) {
  for (PullPolicy policy : std::array{PullPolicy::kNever, PullPolicy::kIfNotPresent, PullPolicy::kAlways}) {
    if (PullPolicyName(policy) == exact_name) return policy;
  }
  return std::nullopt;
}

PullPolicy DefaultPullPolicy(const Reference& reference) {
  // K2. tag() is "latest" also where neither tag nor digest is written, and empty for a digest alone.
  return reference.tag() == "latest" ? PullPolicy::kAlways : PullPolicy::kIfNotPresent;
}

}  // namespace prefetch::image
