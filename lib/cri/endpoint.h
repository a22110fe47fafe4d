// Endpoint: the unix socket of a container runtime, and how it is found.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace prefetch::cri {

// A value: an absolute path that fits a socket address.
struct Endpoint {
  std::string socket_path;

  std::string ToString() const { return "unix://" + socket_path; }

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// Parses an endpoint as base::ParseUnixSocket does (C8). An error names the endpoint.
base::Result<Endpoint> ParseEndpoint(std::string_view text);

// One of the texts of UnreachableReason.
inline constexpr const char* kPermissionDenied = "permission denied";

// Why a socket cannot be used, as seen by connecting to it: what gRPC, which waits and tries again, does not
// tell. nullopt: a server listens. Never blocks. "absent", "permission denied", "nobody listens", …
std::optional<std::string> UnreachableReason(const Endpoint& endpoint);

// Returns the sockets on which container runtimes usually listen, most common first (C9).
const std::vector<Endpoint>& WellKnownEndpoints();

// Returns the first of `candidates` on which a server listens. Else returns Unavailable, with a sentence that
// names each with its fault, and a remedy.
base::Result<Endpoint> DiscoverEndpoint(const std::vector<Endpoint>& candidates = WellKnownEndpoints());

}  // namespace prefetch::cri
