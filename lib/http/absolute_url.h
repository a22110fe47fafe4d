// AbsoluteUrl: "https://host:port/path?query" taken apart, and what a Location means when seen from one. Pure
// text, from strangers: registries write both.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace prefetch::http {

// A value. Compare Origin()s to learn whether two URLs speak to the same server.
struct AbsoluteUrl {
  std::string scheme;  // "http" or "https"
  std::string host;    // lower case; an IPv6 address without its brackets
  std::uint16_t port = 0;
  std::string target;  // path and query as written, begins with "/"; no fragment

  std::string HostPort() const;  // "host:port", always with a port; "[::1]:443"
  // "host" or "host:5000", as people write it: without the port that the scheme implies.
  std::string Authority() const;
  // "https://host" or "https://host:5000": without the port that the scheme implies.
  std::string Origin() const;
  std::string ToString() const { return Origin() + target; }

  friend bool operator==(const AbsoluteUrl&, const AbsoluteUrl&) = default;
};

// InvalidArgument with why: another scheme, no host, user information, a port out of range, a blank or a
// control character, more than 8 KiB. A fragment is dropped.
base::Result<AbsoluteUrl> ParseAbsoluteUrl(std::string_view text);

// Resolves a Location header in an answer to `base` (RFC 3986 section 5.2): absolute, "//host/x", "/x", "x",
// "?q".
base::Result<AbsoluteUrl> ResolveLocation(const AbsoluteUrl& base, std::string_view location);

}  // namespace prefetch::http
