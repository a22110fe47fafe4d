// HostFiles: containerd's hosts.toml and certificates on this node (R30 to R32, R34).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/stamped_files.h"
#include "registry/config_roots.h"
#include "registry/host.h"

namespace prefetch::registry {

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

  // For a reference's domain. Blocks only as a disk does. Never without a host.
  std::shared_ptr<const HostChain> ChainFor(const std::string& registry) PREFETCH_EXCLUDES(mutex_);

 private:
  const HostFilesOptions options_;
  const ConfigRoots roots_;
  base::Mutex mutex_;
  std::map<std::string, base::MadeOfFiles<HostChain>> chains_ PREFETCH_GUARDED_BY(mutex_);  // by registry
};

}  // namespace prefetch::registry
