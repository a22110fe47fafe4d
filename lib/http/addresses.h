// IP addresses: as texts, and as the system has them; networks of them; those to which a request may connect.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/client.h"

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

// A network of IP addresses.
struct Network {
  in6_addr address{};
  unsigned bits = 0;  // of `address`, that all addresses of the network share
  bool v4 = false;    // of IPv4; then `address` is a mapped one

  // Pure. A network of IPv6 has no IPv4 addresses.
  bool Contains(const in6_addr& other) const;
};

// Parses "10.0.0.0/8" or "fd00::/8"; nullopt for anything else. Pure.
std::optional<Network> ParseNetwork(std::string_view text);

// Returns whether a request with this policy may connect to `address`. An IPv6 address that stands for an
// IPv4 address (mapped, NAT64, 6to4) counts as that. `excluded_addresses`: as Request has it. This may read
// the addresses of this machine's interfaces.
bool IsAllowed(AddressPolicy address_policy, const in6_addr& address,
               const std::vector<std::string>& excluded_addresses = {});

// The addresses of `host`, a name or an address, as texts; empty if DNS does not answer. Blocks for as long
// as the resolver waits.
std::vector<std::string> ResolveHost(const std::string& host);

// The addresses of this machine's interfaces, as texts; empty if they cannot be read.
std::vector<std::string> InterfaceAddresses();

}  // namespace prefetch::http
