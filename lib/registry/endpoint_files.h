// EndpointFiles: the servers that CRI-O asks for an image, with the certificates that this node has for them
// (R46 to R48).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/stamped_files.h"
#include "image/reference.h"
#include "registry/host.h"
#include "registry/registries_conf.h"

namespace prefetch::registry {

// Any thread may call. The configuration stays; certificates are looked at each time and read again when they
// have changed, as CRI-O reads them at every pull.
class EndpointFiles {
 public:
  // As of HostFilesOptions.
  EndpointFiles(std::shared_ptr<const RegistriesConf> conf, std::string host_root,
                std::vector<std::string> system_ca_files);
  EndpointFiles(const EndpointFiles&) = delete;
  EndpointFiles& operator=(const EndpointFiles&) = delete;

  // Blocks only as a disk does. Either hosts, or the reason why only pulling tells.
  std::shared_ptr<const HostChain> ChainFor(const image::Reference& reference) PREFETCH_EXCLUDES(mutex_);

 private:
  struct Server {
    ChainedHost host;
    std::vector<std::string> notes;
  };
  Server Load(const std::string& domain, bool insecure, base::StampedFiles& disk) const;
  std::shared_ptr<const Server> ServerOf(const std::string& domain, bool insecure) PREFETCH_REQUIRES(mutex_);

  const std::shared_ptr<const RegistriesConf> conf_;
  const std::string host_root_;
  const std::vector<std::string> system_ca_files_;
  base::Mutex mutex_;
  // By domain and insecurity.
  std::map<std::pair<std::string, bool>, base::MadeOfFiles<Server>> servers_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::registry
