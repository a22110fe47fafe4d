// The server that a registry's name means where no hosts.toml says otherwise (R4, R33, R47).
// Pure.
#pragma once

#include <string_view>

#include "registry/host.h"

namespace prefetch::registry {

// The differences between containerd's releases. A value; the default is a current one.
struct RuntimeRules {
  bool hosts_table_required = false;  // 1.6: a hosts.toml without [host] is invalid
  bool localhost_plain_only = false;  // 1.6: localhost with a port is asked by plain http alone
};
// "1.6.20", "v2.3.4"; what cannot be read counts as current.
RuntimeRules RulesOf(std::string_view containerd_version);

// `registry` is a reference's domain: "docker.io", "reg:5000", "localhost:5000", "[::1]:5000".
Host DefaultHost(std::string_view registry, const RuntimeRules& rules);

// As CRI-O has it: https, on localhost as well. `insecure`: any certificate will do, and plain http, too
// (R47).
Host CrioHost(std::string_view registry, bool insecure);

// Is this the registry's own server, and not a mirror's? Docker Hub's has another name than the registry.
bool IsOwnServer(const http::AbsoluteUrl& server, std::string_view registry);

// "localhost" or a loopback address, as containerd sees it.
bool IsLocalhost(std::string_view host);

// An IP address and no name; without brackets.
bool IsAddress(std::string_view host);

}  // namespace prefetch::registry
