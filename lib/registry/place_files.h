// PlaceFiles: the servers that CRI-O asks for an image, with the certificates that this node has for them
// (R46 to R48).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file_stamp.h"
#include "base/mutex.h"
#include "image/reference.h"
#include "registry/host_chain.h"
#include "registry/registries_conf.h"

namespace prefetch::registry {

// Any thread may call. The configuration stays; certificates are looked at each time and read again when they
// have changed, as CRI-O reads them at every pull.
class PlaceFiles {
 public:
  // As of HostFilesOptions.
  PlaceFiles(std::shared_ptr<const RegistriesConf> conf, std::string host_root,
             std::vector<std::string> system_ca_files);
  PlaceFiles(const PlaceFiles&) = delete;
  PlaceFiles& operator=(const PlaceFiles&) = delete;

  // Blocks only as a disk does. Either hosts, or the reason why only pulling tells.
  std::shared_ptr<const HostChain> ChainFor(const image::Reference& reference) PREFETCH_EXCLUDES(mutex_);

 private:
  struct Loaded {
    std::vector<std::string> watched;
    std::vector<base::FileStamp> stamps;
    ChainedHost host;
    std::vector<std::string> notes;
  };
  Loaded Load(const std::string& domain, bool insecure) const;
  const Loaded& Server(const std::string& domain, bool insecure) PREFETCH_REQUIRES(mutex_);

  const std::shared_ptr<const RegistriesConf> conf_;
  const std::string host_root_;
  const std::vector<std::string> system_ca_files_;
  base::Mutex mutex_;
  std::map<std::pair<std::string, bool>, Loaded> loaded_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::registry
