// HostChain: the servers that are asked for images of one registry, in order, and where that is from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "http/client.h"
#include "registry/host.h"

namespace prefetch::registry {

struct ChainedHost {
  Host host;
  bool own = false;  // the registry's own server: gets the credentials; others are mirrors
  // What hosts.toml wants of TLS, loaded; nullptr: as for any server. With its certificates for `host` alone,
  // and with no more than its authorities for whom that sends us to.
  std::shared_ptr<const http::Tls> tls, tls_elsewhere;
  std::string problem;  // a file that hosts.toml names cannot be read: it cannot be asked
};

// A value; the last host's word is the chain's where no host knows the tag.
struct HostChain {
  std::vector<ChainedHost> hosts;
  std::string source;              // the folder that said so; empty: nothing did, and the defaults hold
  std::vector<std::string> notes;  // what was found wrong on the way, a sentence each; holds no secret
};

}  // namespace prefetch::registry
