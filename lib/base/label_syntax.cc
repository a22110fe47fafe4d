#include "base/label_syntax.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"

namespace prefetch::base {
namespace {

constexpr std::size_t kLongestSubdomain = 253;
constexpr std::size_t kLongestPart = 63;

}  // namespace

bool IsDnsLabel(std::string_view text, std::size_t longest) {
  const auto fits = [](char c) { return IsLowerOrDigit(c) || c == '-'; };
  return !text.empty() && text.size() <= longest && std::all_of(text.begin(), text.end(), fits) &&
         IsLowerOrDigit(text.front()) && IsLowerOrDigit(text.back());
}

bool IsDnsSubdomain(std::string_view text) {
  const std::vector<std::string_view> labels = Split(text, '.');
  return text.size() <= kLongestSubdomain &&
         std::all_of(labels.begin(), labels.end(),
                     [](std::string_view label) { return IsDnsLabel(label, kLongestSubdomain); });
}

bool IsLabelPart(std::string_view text) {
  const auto fits = [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; };
  return !text.empty() && text.size() <= kLongestPart && std::all_of(text.begin(), text.end(), fits) &&
         IsAlphanumeric(text.front()) && IsAlphanumeric(text.back());
}

std::vector<std::size_t> EndsOfWord(std::string_view name, std::string_view word) {
  std::vector<std::size_t> ends;
  for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || name[at - 1] == '-') && (end == name.size() || name[end] == '-')) ends.push_back(end);
  }
  return ends;
}

bool IsLabelKey(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return IsLabelPart(text);
  return IsDnsSubdomain(text.substr(0, slash)) && IsLabelPart(text.substr(slash + 1));
}

bool IsOwnLabelKey(std::string_view text) {
  const std::string_view prefix = text.substr(0, text.find('/'));
  // With the dot, so that "mykubernetes.io" is not taken for it.
  const std::string dotted = "." + std::string(prefix);
  const bool theirs = dotted.ends_with(".kubernetes.io") || dotted.ends_with(".k8s.io");
  return IsLabelKey(text) && prefix.size() < text.size() && prefix.find('.') != std::string_view::npos &&
         !theirs;
}

bool IsStartupTaintKey(std::string_view text) {
  // cluster-autoscaler/utils/taints/taints.go: StartupTaintPrefix, and its older spelling.
  return IsOwnLabelKey(text) ||
         (IsLabelKey(text) && (text.starts_with("startup-taint.cluster-autoscaler.kubernetes.io/") ||
                               text.starts_with("ignore-taint.cluster-autoscaler.kubernetes.io/")));
}

}  // namespace prefetch::base
