// EndpointFiles: the servers that CRI-O asks for an image, with the certificates that this node has for them
// (R46 to R48).
// PullEndpointsFor: the names under which CRI-O pulls an image, in order, by its registries.conf. Pure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/lru_map.h"
#include "base/mutex.h"
#include "image/reference.h"
#include "registry/host.h"
#include "registry/registries_conf.h"

namespace prefetch::registry {

// Any thread may call. The configuration stays; certificates are looked at each time and read again when they
// have changed, as CRI-O reads them at every pull.
class EndpointFiles {
 public:
  // The arguments are those of HostFilesOptions.
  EndpointFiles(std::shared_ptr<const RegistriesConf> conf, std::string host_root,
                std::vector<std::string> system_ca_files);
  EndpointFiles(const EndpointFiles&) = delete;
  EndpointFiles& operator=(const EndpointFiles&) = delete;

  // Blocks only as a disk does. Either hosts, or the reason why only a pull can tell.
  std::shared_ptr<const HostChain> ChainFor(const image::Reference& reference) PREFETCH_EXCLUDES(mutex_);

 private:
  struct Server {
    ChainedHost host;
    std::vector<std::string> notes;
  };
  Server Load(const std::string& domain, bool insecure, base::StampedFiles& disk) const;

  const std::shared_ptr<const RegistriesConf> conf_;
  const std::string host_root_;
  const std::vector<std::string> system_ca_files_;
  base::Mutex mutex_;
  // By domain, and "!" for an insecure server.
  base::LruMap<base::CachedFromFiles<Server>> servers_ PREFETCH_GUARDED_BY(mutex_){256};
};

// Returns the places from which CRI-O pulls the image, in its order, each with the image's name there (`as`);
// without certificates. No place: only the runtime knows, and the chain has the reason.
//
// Unlike in hosts.toml, the whole name of the image chooses an entry of registries.conf, and the image has
// another name at each server. If the agent cannot follow that exactly, only a pull can tell.
HostChain PullEndpointsFor(const RegistriesConf& conf, const image::Reference& reference);

}  // namespace prefetch::registry
