// A registry's address as kubelet takes it apart, which is Go's URL parser (A14).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace prefetch::credentials {

struct RegistryUrl {
  std::string host;  // with its port, if any; "[::1]:5000"
  std::string path;  // percent-decoded; empty or beginning with "/"
};

// `text` is what follows "https://": "user@foo.io:5000/a?q#f". User information, query and fragment are
// checked and dropped. nullopt if Go refuses it, or would with a newer release (brackets and colons that are
// no port's and no IPv6 address's). Pure.
std::optional<RegistryUrl> ParseRegistryUrl(std::string_view text);

// A key of a docker config or of a plugin's answer, fit to be shown: its user information, query and fragment
// may hold a password, and are left out. "https://u:p@quay.io/v1/?t" -> "https://quay.io/v1/". Pure.
std::string ShownKey(std::string_view key);

// Host and port apart, the brackets of an IPv6 address with a port gone.
struct HostAndPort {
  std::string_view host;
  std::string_view port;
};
HostAndPort SplitHostAndPort(std::string_view host);

}  // namespace prefetch::credentials
