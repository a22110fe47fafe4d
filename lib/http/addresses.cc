#include "http/addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>

#include <cstring>

namespace prefetch::http {

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
  in6_addr mapped{};
  mapped.s6_addr[10] = mapped.s6_addr[11] = 0xff;
  std::memcpy(mapped.s6_addr + 12, &v4.sin_addr, sizeof v4.sin_addr);
  return mapped;
}

std::optional<in6_addr> ToIpv6(std::string_view text) {
  const std::string address(text.substr(0, text.find('%')));
  in6_addr v6{};
  if (::inet_pton(AF_INET6, address.c_str(), &v6) == 1) return v6;
  in_addr v4{};
  if (::inet_pton(AF_INET, address.c_str(), &v4) != 1) return std::nullopt;
  ::inet_pton(AF_INET6, ("::ffff:" + address).c_str(), &v6);
  return v6;
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
