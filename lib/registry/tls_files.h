// TlsFiles: the authorities and certificates that a Host names, read from this node's disk (R32, R42).
#pragma once

#include <string>
#include <vector>

#include "base/stamped_files.h"
#include "registry/host.h"

namespace prefetch::registry {

// Reads the files of one chain of hosts. The constructor's arguments must outlive it.
class TlsFiles {
 public:
  // The runtime's "/etc/…" is `host_root` + "/etc/…" here. The first existing file of `system_ca_files` (PEM)
  // counts.
  TlsFiles(const std::string& host_root, const std::vector<std::string>& system_ca_files,
           base::StampedFiles& files)
      : host_root_(host_root), system_ca_files_(system_ca_files), files_(files) {}

  // Fills in `tls`, `tls_elsewhere` and `problem` by what `host` says. Blocks only as a disk does.
  void Load(ChainedHost& chained, std::vector<std::string>& notes);

 private:
  std::string Read(const std::string& path, std::string& problem);
  void Check(const ClientPair& pair, std::string& problem);
  std::string SystemAuthorities();

  const std::string& host_root_;
  const std::vector<std::string>& system_ca_files_;
  base::StampedFiles& files_;
};

}  // namespace prefetch::registry
