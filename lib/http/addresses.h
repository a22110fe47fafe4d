// IP addresses: as texts, and as the system has them.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prefetch::http {

// Returns true for an IPv4 or IPv6 address, without a port, brackets or an interface. Pure.
bool IsAddress(std::string_view text);

// Returns the address without its port, and without the interface of a link-local one: "10.0.0.7", "fe80::1".
// Empty for a family that is not IP's. Pure.
std::string TextOf(const sockaddr& address);

// Returns the address as an IPv6 address: an IPv4 address as the mapped one. nullopt for a family that is not
// IP's, and for a text that is no address; the text may name an interface ("fe80::1%eth0"). Pure.
std::optional<in6_addr> ToIpv6(const sockaddr& address);
std::optional<in6_addr> ToIpv6(std::string_view text);

// The addresses of `host`, a name or an address, as texts; empty if DNS does not answer. Blocks for as long
// as the resolver waits.
std::vector<std::string> ResolveHost(const std::string& host);

// The addresses of this machine's interfaces, as texts; empty if they cannot be read.
std::vector<std::string> InterfaceAddresses();

}  // namespace prefetch::http
