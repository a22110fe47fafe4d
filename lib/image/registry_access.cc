#include "image/registry_access.h"

#include <algorithm>

namespace prefetch::image {
namespace {

// Images of Docker Hub are named docker.io, and a runtime's tables may name the servers that have them.
bool Means(std::string_view host, std::string_view registry) {
  if (host == "*" || host == registry) return true;
  return registry == "docker.io" && (host == "registry-1.docker.io" || host == "index.docker.io");
}

}  // namespace

bool IsOnlyByPull(const RegistryAccess& access, std::string_view registry) {
  return std::any_of(access.by_pull.begin(), access.by_pull.end(),
                     [&](const std::string& host) { return Means(host, registry); });
}

}  // namespace prefetch::image
