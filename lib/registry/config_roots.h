// Where hosts.toml files are looked for: containerd's `config_path`, and how its releases read it
// (R30, R34). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace prefetch::registry {

// Facts about the container runtime's configuration, from the operator or the runtime.
struct RuntimeConfig {
  bool containerd = true;          // false: another runtime, which reads no hosts.toml
  std::string containerd_version;  // "2.3.4"; empty: not known, counts as the newest
  // As written in containerd's configuration, or its release's default: "/etc/containerd/certs.d", several
  // with ":". Empty: there is none.
  std::string config_path;
  bool path_is_default = false;    // not configured
  bool local_pull = false;         // use_local_image_pull, or another setting that makes it so (C29)
  bool split_config_path = false;  // a build in which the transfer service splits at ":"
};

struct ConfigRoots {
  std::vector<std::string> folders;  // in order; empty: no hosts.toml counts
  // containerd takes "a:b" for one absent folder, so a and b have no effect on pulls, and must have none on
  // our questions.
  bool ignored = false;
  // The CRI plugin finds servers by its own tables, which have other defaults (TableHost).
  bool by_tables = false;
};

// The default `config_path`: none before 2.2.
std::string_view DefaultConfigPath(std::string_view containerd_version);

ConfigRoots RootsOf(const RuntimeConfig& config);

// The folders in one root that may hold the files for `registry`, the first that exists counts:
// "host_port_", "host:port", "_default".
std::vector<std::string> HostFolders(std::string_view root, std::string_view registry);

}  // namespace prefetch::registry
