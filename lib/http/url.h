// Request targets, and AbsoluteUrl: URLs taken apart. Pure; the texts are untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace prefetch::http {

// The target of a request line, taken apart and percent-decoded.
struct Target {
  std::string path;  // begins with "/"; valid UTF-8 without NUL; "%2F" and "/" are the same here
  // In their order; a name may stand several times. "+" is a space; a name without "=" has an empty value.
  std::vector<std::pair<std::string, std::string>> query;

  friend bool operator==(const Target&, const Target&) = default;
};

// "/v1/images/reg%3A5000/a?policy=Never", or the same behind "http://host" (RFC 9112 section 3.2.2).
// InvalidArgument for everything else: a broken escape, %00, bytes that are not UTF-8 once decoded, blanks,
// control characters, a fragment, more than 100 parameters.
base::Result<Target> ParseTarget(std::string_view target);

// The parts of a URL that may be shown: scheme, host, port and path. Userinfo, query and fragment can hold
// secrets and are left out; it ends at the first blank or control character. At most 200 bytes. Never fails.
std::string DisplayUrl(std::string_view url);

// "https://host:port/path?query" taken apart, and the target of a Location relative to it. Registries write
// both, so they are untrusted. A value. Two URLs with the same Origin() lead to the same server.
struct AbsoluteUrl {
  std::string scheme;  // "http" or "https"
  std::string host;    // lower case; an IPv6 address without its brackets, with "%25eth0" if there
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

// A registry writes no longer ones. A request of our own may be longer: it can name each Node of a cluster.
constexpr std::size_t kMaxUrlBytes = 8 * 1024, kMaxRequestUrlBytes = 1024 * 1024;

// Parses an absolute URL, and drops its fragment. InvalidArgument names the mistake: another scheme, no host,
// user information, a port out of range, a blank or a control character, more than `max_bytes`.
base::Result<AbsoluteUrl> ParseAbsoluteUrl(std::string_view text, std::size_t max_bytes = kMaxUrlBytes);

// Resolves a Location header in an answer to `base` (RFC 3986 section 5.2): absolute, "//host/x", "/x", "x",
// "?q".
base::Result<AbsoluteUrl> ResolveLocation(const AbsoluteUrl& base, std::string_view location);

}  // namespace prefetch::http
