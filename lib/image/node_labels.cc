#include "image/node_labels.h"

#include <algorithm>
#include <cctype>

namespace prefetch::image {

bool Selects(const NodeLabels& selector, const NodeLabels& labels) {
  return std::all_of(selector.begin(), selector.end(), [&](const auto& pair) {
    auto label = labels.find(pair.first);
    return label != labels.end() && label->second == pair.second;
  });
}

bool IsLabelName(std::string_view name) {
  auto fits = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  bool middle = std::all_of(name.begin(), name.end(),
                            [&](char c) { return fits(c) || c == '-' || c == '_' || c == '.'; });
  return !name.empty() && name.size() <= 63 && middle && fits(name.front()) && fits(name.back());
}

bool IsLabelPrefix(std::string_view text) {
  auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; };
  return !text.empty() && text.size() <= 253 && std::all_of(text.begin(), text.end(), fits) &&
         text.front() != '.' && text.front() != '-' && text.back() != '.' && text.back() != '-' &&
         text.find("..") == std::string_view::npos;
}

bool IsLabelKey(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return IsLabelName(key);
  return IsLabelPrefix(key.substr(0, slash)) && IsLabelName(key.substr(slash + 1));
}

bool IsLabelValue(std::string_view value) {
  return value.empty() || IsLabelName(value);
}

}  // namespace prefetch::image
