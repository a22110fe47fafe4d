#include "http/curl_answer.h"

#include <netinet/in.h>

#include <array>
#include <cstring>

namespace prefetch::http {
namespace {

enum class Kind { kPlain, kLoopback, kSpecial };

// Clouds answer machines there with their credentials, by the rule on link-local addresses or beside it:
// Azure's wire server, Alibaba Cloud's metadata, and those of AWS and Google Cloud over IPv6.
constexpr std::array<std::array<unsigned char, 4>, 2> kMetadataV4 = {
    {{168, 63, 129, 16}, {100, 100, 100, 200}}};
constexpr std::array<in6_addr, 2> kMetadataV6 = {{
    {{{0xfd, 0x00, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54}}},
    {{{0xfd, 0x20, 0x00, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54}}},
}};

Kind KindOfV4(const unsigned char* bytes) {
  for (const auto& metadata : kMetadataV4) {
    if (std::memcmp(bytes, metadata.data(), metadata.size()) == 0) return Kind::kSpecial;
  }
  if (bytes[0] == 127) return Kind::kLoopback;
  bool unspecified = bytes[0] == 0;
  bool link_local = bytes[0] == 169 && bytes[1] == 254;
  bool multicast_or_above = bytes[0] >= 224;
  return unspecified || link_local || multicast_or_above ? Kind::kSpecial : Kind::kPlain;
}

Kind KindOfV6(const in6_addr& address) {
  if (IN6_IS_ADDR_V4MAPPED(&address)) return KindOfV4(address.s6_addr + 12);
  if (IN6_IS_ADDR_LOOPBACK(&address)) return Kind::kLoopback;
  for (const in6_addr& metadata : kMetadataV6) {
    if (IN6_ARE_ADDR_EQUAL(&address, &metadata)) return Kind::kSpecial;
  }
  bool special =
      IN6_IS_ADDR_UNSPECIFIED(&address) || IN6_IS_ADDR_LINKLOCAL(&address) || IN6_IS_ADDR_MULTICAST(&address);
  return special ? Kind::kSpecial : Kind::kPlain;
}

Kind KindOf(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &address, sizeof v4);
    unsigned char bytes[4];
    std::memcpy(bytes, &v4.sin_addr, sizeof bytes);
    return KindOfV4(bytes);
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, &address, sizeof v6);
    return KindOfV6(v6.sin6_addr);
  }
  return Kind::kPlain;
}

}  // namespace

bool IsAllowed(Peers peers, const sockaddr& address) {
  switch (peers) {
    case Peers::kAny:
      return true;
    case Peers::kLoopbackToo:
      return KindOf(address) != Kind::kSpecial;
    case Peers::kElsewhere:
      return KindOf(address) == Kind::kPlain;
  }
  return false;
}

}  // namespace prefetch::http
