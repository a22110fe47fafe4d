// HostFiles: containerd's hosts.toml and certificates on this node (R30 to R32, R34).
// RuntimeConfig and ConfigRoots: the folders of hosts.toml files, by containerd's `config_path`.
// LoadTls: the authorities and certificates that a Host names.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/lru_map.h"
#include "base/mutex.h"
#include "registry/host.h"

namespace prefetch::registry {

// Facts about the container runtime's configuration, from the operator or the runtime. They decide where
// hosts.toml files are looked for, by the rules of containerd's releases (R30, R34).
struct RuntimeConfig {
  bool containerd = true;          // false: another runtime, which reads no hosts.toml
  std::string containerd_version;  // "2.3.4"; empty: not known, counts as the newest
  // The path that containerd's configuration names, or its release's default: "/etc/containerd/certs.d". A
  // colon separates several. Empty: there is none.
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
  // The CRI plugin finds servers by its own tables, which have other defaults (CriTablesHost).
  bool by_tables = false;
};

// The default `config_path`: none before 2.2.
std::string_view DefaultConfigPath(std::string_view containerd_version);

// Returns the folders in which the runtime looks for hosts.toml files.
ConfigRoots RootsOf(const RuntimeConfig& config);

// The folders in one root that may hold the files for `registry`, the first that exists counts:
// "host_port_", "host:port", "_default".
std::vector<std::string> HostFolders(std::string_view root, std::string_view registry);

struct HostFilesOptions {
  RuntimeConfig runtime;
  // The runtime's "/etc/…" is `host_root` + "/etc/…" here.
  std::string host_root;
  // PEM files of authorities, the first that is there is taken: what "the system's" means for a host that has
  // further ones.
  std::vector<std::string> system_ca_files = {"/etc/ssl/certs/ca-certificates.crt",
                                              "/etc/pki/tls/certs/ca-bundle.crt"};
};

// Problems that concern all registries, a sentence each: the agent cannot see a folder of files.
std::vector<std::string> NotesOnFolders(const RuntimeConfig& runtime, const std::string& host_root);

// Any thread may call. Files are looked at each time and read again when they have changed, as containerd
// reads them at every pull.
class HostFiles {
 public:
  explicit HostFiles(HostFilesOptions options);
  HostFiles(const HostFiles&) = delete;
  HostFiles& operator=(const HostFiles&) = delete;

  // Returns the hosts for a reference's domain, at least one. Blocks only as a disk does.
  std::shared_ptr<const HostChain> ChainFor(const std::string& registry) PREFETCH_EXCLUDES(mutex_);

 private:
  const HostFilesOptions options_;
  const ConfigRoots roots_;
  base::Mutex mutex_;
  base::LruMap<base::CachedFromFiles<HostChain>> chains_ PREFETCH_GUARDED_BY(mutex_){256};  // by registry
};

// Fills in `tls`, `redirect_tls` and `problem` by what the host says: the authorities and certificates that
// it names, from this node's disk (R32, R42). The runtime's "/etc/…" is `host_root` + "/etc/…" here. The
// first existing file of `system_ca_files` (PEM) counts. Blocks only as a disk does.
void LoadTls(const std::string& host_root, const std::vector<std::string>& system_ca_files,
             base::StampedFiles& files, ChainedHost& chained, std::vector<std::string>& notes);

}  // namespace prefetch::registry
