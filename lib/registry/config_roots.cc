#include "registry/config_roots.h"

#include <utility>

#include "base/text.h"

namespace prefetch::registry {
namespace {

constexpr std::string_view kDefaultPath = "/etc/containerd/certs.d:/etc/docker/certs.d";

// Major and minor; a release that cannot be read counts as the newest.
std::pair<std::uint64_t, std::uint64_t> VersionOf(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  std::vector<std::string_view> parts = base::Split(text, '.');
  auto major = base::ParseUint(parts[0]);
  auto minor = parts.size() > 1 ? base::ParseUint(parts[1]) : std::nullopt;
  if (!major || !minor) return {99, 0};
  return {*major, *minor};
}

bool IsAtLeast(std::string_view version, std::uint64_t major, std::uint64_t minor) {
  return VersionOf(version) >= std::pair(major, minor);
}

}  // namespace

std::string_view DefaultConfigPath(std::string_view containerd_version) {
  return IsAtLeast(containerd_version, 2, 2) ? kDefaultPath : "";
}

ConfigRoots RootsOf(const RuntimeConfig& config) {
  if (!config.containerd) return {};
  std::string_view path = config.config_path;
  bool transfer = IsAtLeast(config.containerd_version, 2, 1) && !config.local_pull;
  bool several = path.find(':') != std::string_view::npos;
  if (transfer && several && !config.split_config_path) return {.folders = {}, .ignored = true};
  ConfigRoots roots;
  for (std::string_view folder : base::Split(path, ':')) {
    if (!folder.empty()) roots.folders.emplace_back(folder);
  }
  return roots;
}

std::vector<std::string> HostFolders(std::string_view root, std::string_view registry) {
  std::string prefix = std::string(root) + "/";
  std::vector<std::string> folders;
  std::size_t colon = registry.rfind(':');
  bool port = colon != std::string_view::npos && registry.find(']', colon) == std::string_view::npos;
  if (port) {
    folders.push_back(prefix + std::string(registry.substr(0, colon)) + "_" +
                      std::string(registry.substr(colon + 1)) + "_");
  }
  folders.push_back(prefix + std::string(registry));
  folders.push_back(prefix + "_default");
  return folders;
}

}  // namespace prefetch::registry
