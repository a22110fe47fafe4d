#include "registry/config_roots.h"

#include "base/text.h"
#include "registry/runtime_rules.h"

namespace prefetch::registry {
namespace {

constexpr std::string_view kDefaultPath = "/etc/containerd/certs.d:/etc/docker/certs.d";

}  // namespace

std::string_view DefaultConfigPath(std::string_view containerd_version) {
  return RulesOf(containerd_version).default_config_path ? kDefaultPath : "";
}

ConfigRoots RootsOf(const RuntimeConfig& config) {
  if (!config.containerd) return {};
  std::string_view path = config.config_path;
  bool transfer = RulesOf(config.containerd_version).transfer_service && !config.local_pull;
  bool several = path.find(':') != std::string_view::npos;
  if (transfer && several && !config.split_config_path) return {.folders = {}, .ignored = true};
  ConfigRoots roots{.folders = {}, .by_tables = path.empty() && !transfer};
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
