// TlsFiles: the authorities and certificates that a Host names, read from this node's disk (R32, R42).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "registry/host_chain.h"

namespace prefetch::registry {

// Reads for one chain, and keeps in mind every path that it looked at. What it is given outlives it.
class TlsFiles {
 public:
  // What the runtime calls "/etc/…" is `host_root` + "/etc/…" here. Of `system_ca_files` (PEM) the first that
  // is there is taken.
  TlsFiles(const std::string& host_root, const std::vector<std::string>& system_ca_files)
      : host_root_(host_root), system_ca_files_(system_ca_files) {}

  // Fills in `tls`, `tls_elsewhere` and `problem` by what `host` says. Blocks only as a disk does.
  void Load(ChainedHost& chained, std::vector<std::string>& notes);

  std::vector<std::string> TakeWatched() { return std::move(watched_); }

 private:
  std::string Read(const std::string& path, std::string& problem);
  std::string SystemAuthorities() const;

  const std::string& host_root_;
  const std::vector<std::string>& system_ca_files_;
  std::vector<std::string> watched_;
};

}  // namespace prefetch::registry
