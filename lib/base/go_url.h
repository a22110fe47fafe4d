// GoUrl: a URL as Go's net/url takes it, which is how kubelet reads registries and containerd those of
// hosts.toml. Pure.
//
// It accepts much that no client can ask: "https://*", "https://<host>:5000", a port of 99999. containerd
// then keeps the rest of the file, and fails at that server alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace prefetch::base {

struct GoUrl {
  std::string scheme;  // lower case; empty: none
  std::string host;    // with its port, as written; without user and password; empty: none
  std::string path;    // without escapes
};

// Parses a URL as Go's url.Parse does; nullopt if that fails.
std::optional<GoUrl> ParseGoUrl(std::string_view text);

// Host and port apart, as Go's net.SplitHostPort takes them: an IPv6 address with a port stands in brackets,
// which are dropped. Without a port ("r.io", "::1", "[::1]"), the host is the whole text.
struct HostAndPort {
  std::string_view host;
  std::string_view port;  // empty: none
};
HostAndPort SplitHostPort(std::string_view text);

// Cleans a path as Go's path.Clean does, but an empty one stays empty.
std::string CleanedPath(std::string_view path);

// Escapes a path without "%" as Go's URL.EscapedPath does.
std::string EscapedPath(std::string_view path);

}  // namespace prefetch::base
