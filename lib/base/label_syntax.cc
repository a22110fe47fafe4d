#include "base/label_syntax.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace prefetch::base {
namespace {

constexpr std::size_t kLongestSubdomain = 253;
constexpr std::size_t kLongestPart = 63;

bool IsLowerOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool IsAlphanumeric(char c) {
  return IsLowerOrDigit(c) || (c >= 'A' && c <= 'Z');
}

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

bool IsLabelKey(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return IsLabelPart(text);
  return IsDnsSubdomain(text.substr(0, slash)) && IsLabelPart(text.substr(slash + 1));
}

}  // namespace prefetch::base
