// HostChain: the servers that are asked for images of one registry, in order, and where that is from.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/client.h"
#include "image/reference.h"
#include "registry/host.h"

namespace prefetch::registry {

struct ChainedHost {
  Host host;
  bool own = false;     // the registry's own server: gets the credentials
  bool mirror = false;  // it is asked before the one that stands for the registry
  // The image's name there, where CRI-O's registries.conf gives it another one or has it stay. Such a place
  // gets the credentials if it is the registry's own server, and never else (R48).
  std::optional<image::Reference> as;
  std::string blocked_by;  // the prefix of the entry of registries.conf that forbids to ask; empty: none does
  // The TLS settings of hosts.toml, loaded; nullptr: as for any server. `tls` has its certificates, for
  // `host` alone; `tls_elsewhere` has only its authorities, for the targets of redirects.
  std::shared_ptr<const http::Tls> tls, tls_elsewhere;
  std::string problem;  // a file that hosts.toml names, or a certificate, cannot be read: it cannot be asked
};

// A value; the last host's word is the chain's where no host knows the tag.
struct HostChain {
  std::vector<ChainedHost> hosts;
  std::string source;              // the folder or entry of these settings; empty: the defaults hold
  std::string only_by_pull;        // no server is asked: the reason, a sentence; empty: the hosts are
  std::vector<std::string> notes;  // mistakes that were found, a sentence each; no secrets
  // Some folder or file that may count is not to be seen: the runtime may ask other servers.
  bool is_guess = false;
};

}  // namespace prefetch::registry
