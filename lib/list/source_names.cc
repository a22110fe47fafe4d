#include "list/source.h"

#include <cstddef>
#include <map>

#include "base/text.h"

namespace prefetch::list {
namespace {

// The last `count` parts of `path`.
std::string Suffix(const std::string& path, std::size_t count) {
  std::vector<std::string_view> parts = base::Split(path, '/');
  std::string suffix(parts.back());
  for (std::size_t i = 2; i <= count && i <= parts.size(); i++) {
    suffix = std::string(parts[parts.size() - i]) + "/" + suffix;
  }
  return suffix;
}

}  // namespace

std::vector<std::string> SourceNames(const std::vector<std::string>& paths) {
  std::vector<std::size_t> parts(paths.size(), 1);
  std::vector<std::string> names(paths.size());
  while (true) {
    std::map<std::string, int> uses;
    for (std::size_t i = 0; i < paths.size(); i++) uses[names[i] = Suffix(paths[i], parts[i])]++;
    bool longer = false;
    for (std::size_t i = 0; i < paths.size(); i++) {
      if (uses[names[i]] < 2 || names[i] == paths[i]) continue;
      parts[i]++;
      longer = true;
    }
    if (!longer) return names;
  }
}

}  // namespace prefetch::list
