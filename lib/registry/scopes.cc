#include "registry/token_service.h"

#include <algorithm>

#include "base/text.h"

namespace prefetch::registry {
namespace {

constexpr std::size_t kMaxScopes = 16;

// "" if nothing of it is about pulling.
std::string PullOnly(std::string_view scope) {
  std::size_t first = scope.find(':'), last = scope.rfind(':');
  if (first == last) return std::string(scope);
  for (std::string_view action : base::Split(scope.substr(last + 1), ',')) {
    if (action == "pull") return std::string(scope.substr(0, last)) + ":pull";
  }
  return "";
}

}  // namespace

std::vector<std::string> PullScopes(std::string_view challenge_scope, std::string_view path) {
  std::vector<std::string> scopes = {"repository:" + std::string(path) + ":pull"};
  for (std::string_view part : base::Split(challenge_scope, ' ')) {
    std::string scope = PullOnly(part);
    if (!scope.empty() && scopes.size() < kMaxScopes) scopes.push_back(std::move(scope));
  }
  std::sort(scopes.begin(), scopes.end());
  scopes.erase(std::unique(scopes.begin(), scopes.end()), scopes.end());
  return scopes;
}

}  // namespace prefetch::registry
