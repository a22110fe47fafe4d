#include "image/name_pattern.h"

#include <algorithm>

namespace prefetch::image {
namespace {

constexpr std::size_t kLongest = 500;
constexpr int kMostStars = 20;

// Greedy, and goes back to the last star only, so that no pattern takes longer than name times pattern. A
// recursive matcher could be made to take exponential time by a pattern of many stars.
bool Matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      p++;
      t++;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') p++;
  return p == pattern.size();
}

std::string_view RepositoryOf(std::string_view name) {
  std::size_t digest = name.find('@');
  if (digest != std::string_view::npos) return name.substr(0, digest);
  std::size_t colon = name.rfind(':');
  bool tag = colon != std::string_view::npos && name.find('/', colon) == std::string_view::npos;
  return tag ? name.substr(0, colon) : name;
}

}  // namespace

bool MatchesPattern(std::string_view pattern, std::string_view normalized_name) {
  // A pattern without a tag means every tag of the repository.
  return Matches(pattern, normalized_name) || Matches(pattern, RepositoryOf(normalized_name));
}

base::Status CheckPattern(std::string_view pattern) {
  bool blank = std::any_of(pattern.begin(), pattern.end(),
                           [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; });
  if (pattern.empty() || blank || pattern.size() > kLongest ||
      std::count(pattern.begin(), pattern.end(), '*') > kMostStars) {
    return base::InvalidArgument(
        "must be a pattern of image names such as registry.k8s.io/*, of at most 500 characters and 20 stars");
  }
  return {};
}

}  // namespace prefetch::image
