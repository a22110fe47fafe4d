#include "http/addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace prefetch::http {

namespace {

// Returns the IPv6 address for the four bytes of an IPv4 address.
in6_addr Mapped(const void* v4) {
  in6_addr mapped{};
  mapped.s6_addr[10] = mapped.s6_addr[11] = 0xff;
  std::memcpy(mapped.s6_addr + 12, v4, 4);
  return mapped;
}

}  // namespace

bool IsAddress(std::string_view text) {
  return text.find('%') == std::string_view::npos && ToIpv6(text);
}

std::string TextOf(const sockaddr& address) {
  const auto v6 = ToIpv6(address);
  if (!v6) return "";
  char text[INET6_ADDRSTRLEN] = "";
  const bool v4 = IN6_IS_ADDR_V4MAPPED(&*v6);
  ::inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? v6->s6_addr + 12 : v6->s6_addr, text, sizeof text);
  return text;
}

std::optional<in6_addr> ToIpv6(const sockaddr& address) {
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, &address, sizeof v6);
    return v6.sin6_addr;
  }
  if (address.sa_family != AF_INET) return std::nullopt;
  sockaddr_in v4;
  std::memcpy(&v4, &address, sizeof v4);
  return Mapped(&v4.sin_addr);
}

std::optional<in6_addr> ToIpv6(std::string_view text) {
  const std::string address(text.substr(0, text.find('%')));
  in6_addr v6{};
  if (::inet_pton(AF_INET6, address.c_str(), &v6) == 1) return v6;
  in_addr v4{};
  if (::inet_pton(AF_INET, address.c_str(), &v4) != 1) return std::nullopt;
  return Mapped(&v4);
}

bool Network::Contains(const in6_addr& other) const {
  if ((IN6_IS_ADDR_V4MAPPED(&other) != 0) != v4) return false;
  for (unsigned i = 0; i < bits; i++) {
    const unsigned mask = 0x80U >> (i % 8);
    if ((address.s6_addr[i / 8] & mask) != (other.s6_addr[i / 8] & mask)) return false;
  }
  return true;
}

std::optional<Network> ParseNetwork(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view written = text.substr(0, slash);
  const auto bits = base::ParseUint(text.substr(slash + 1));
  const bool v4 = written.find(':') == std::string_view::npos;
  if (!IsAddress(written) || !bits || *bits > (v4 ? 32U : 128U)) return std::nullopt;
  // An IPv4 address begins at bit 96 of its mapped form.
  return Network{*ToIpv6(written), static_cast<unsigned>(*bits) + (v4 ? 96 : 0), v4};
}

namespace {

enum class Kind { kPlain, kPrivate, kLoopback, kSpecial };

// The first row counts that has an address.
constexpr std::pair<Kind, std::string_view> kNetworks[] = {
    // Here clouds give machines their credentials, beside the usual link-local address: Azure's wire server,
    // Alibaba Cloud's metadata, and those of AWS and Google Cloud over IPv6.
    {Kind::kSpecial, "168.63.129.16/32 100.100.100.200/32 fd00:ec2::254/128 fd20:ce::254/128"},
    {Kind::kLoopback, "127.0.0.0/8 ::1/128"},
    // Unspecified, link-local, and multicast or above. 0.0.0.0 reaches the machine itself on Linux, so it is
    // no better than loopback.
    {Kind::kSpecial, "0.0.0.0/8 ::/128 169.254.0.0/16 fe80::/10 224.0.0.0/3 ff00::/8"},
    {Kind::kPrivate, "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 fc00::/7 fec0::/10"},
};
// RFC 8215 reserves it for NAT64 with prefixes of any length.
constexpr std::string_view kLocalNat64 = "64:ff9b:1::/48";

bool IsIn(std::string_view networks, const in6_addr& address) {
  const std::vector<std::string_view> all = base::Split(networks, ' ');
  return std::any_of(all.begin(), all.end(),
                     [&](std::string_view one) { return ParseNetwork(one)->Contains(address); });
}

Kind KindOf(const in6_addr& address) {
  for (const auto& [kind, networks] : kNetworks) {
    if (IsIn(networks, address)) return kind;
  }
  return Kind::kPlain;
}

// Returns the IPv4 address that the IPv6 one stands for, as a mapped one; any other address as it is. The
// machine itself connects to mapped ones as to IPv4. Gateways forward the others to the address inside: NAT64
// (RFC 6052, and RFC 8215 with a prefix of 96 bits), 6to4 (RFC 3056).
in6_addr Unwrapped(const in6_addr& address) {
  const unsigned char* bytes = address.s6_addr;
  // If these bytes are 0, the prefix may be shorter than 96 bits.
  const bool local = IsIn(kLocalNat64, address) && (bytes[13] | bytes[14] | bytes[15]) != 0;
  if (local || IsIn("64:ff9b::/96", address)) return Mapped(bytes + 12);
  return IsIn("2002::/16", address) ? Mapped(bytes + 2) : address;
}

bool IsOtherHost(const in6_addr& address, const std::vector<std::string>& excluded_addresses) {
  // A network chooses the length of a prefix of its own (RFC 6052), so where the IPv4 address stands is
  // unknown.
  if (IsIn(kLocalNat64, address)) return false;
  const in6_addr unwrapped = Unwrapped(address);
  const auto is_it = [&](const std::string& text) {
    const std::optional<in6_addr> other = ToIpv6(text);
    if (!other) return false;
    const in6_addr known = Unwrapped(*other);
    return IN6_ARE_ADDR_EQUAL(&known, &unwrapped) != 0;
  };
  const std::vector<std::string> here = InterfaceAddresses();
  // Without interfaces, nothing proves that the address is another machine's.
  return !here.empty() && std::none_of(here.begin(), here.end(), is_it) &&
         std::none_of(excluded_addresses.begin(), excluded_addresses.end(), is_it);
}

}  // namespace

bool IsAllowed(AddressPolicy address_policy, const in6_addr& address,
               const std::vector<std::string>& excluded_addresses) {
  const Kind kind = KindOf(Unwrapped(address));
  const bool is_remote = kind == Kind::kPlain || kind == Kind::kPrivate;
  switch (address_policy) {
    case AddressPolicy::kAny:
      return true;
    case AddressPolicy::kAllowLoopback:
      return kind != Kind::kSpecial;
    case AddressPolicy::kNoLoopback:
      return is_remote;
    case AddressPolicy::kOtherHosts:
      return is_remote && IsOtherHost(address, excluded_addresses);
    case AddressPolicy::kPublic:
      return kind == Kind::kPlain && IsOtherHost(address, excluded_addresses);
  }
  return false;
}

std::vector<std::string> ResolveHost(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::vector<std::string> addresses;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (std::string text = TextOf(*one->ai_addr); !text.empty()) addresses.push_back(std::move(text));
  }
  ::freeaddrinfo(found);
  return addresses;
}

std::vector<std::string> InterfaceAddresses() {
  std::vector<std::string> addresses;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return addresses;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    if (std::string text = TextOf(*one->ifa_addr); !text.empty()) addresses.push_back(std::move(text));
  }
  ::freeifaddrs(all);
  return addresses;
}

}  // namespace prefetch::http
