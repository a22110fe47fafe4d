#include "http/curl_answer.h"

#include <netinet/in.h>

#include <cstring>

namespace prefetch::http {
namespace {

enum class Kind { kPlain, kLoopback, kSpecial };

Kind KindOfV4(const unsigned char* bytes) {
  if (bytes[0] == 127) return Kind::kLoopback;
  bool unspecified = bytes[0] == 0;
  bool link_local = bytes[0] == 169 && bytes[1] == 254;
  bool multicast_or_above = bytes[0] >= 224;
  return unspecified || link_local || multicast_or_above ? Kind::kSpecial : Kind::kPlain;
}

Kind KindOfV6(const in6_addr& address) {
  if (IN6_IS_ADDR_V4MAPPED(&address)) return KindOfV4(address.s6_addr + 12);
  if (IN6_IS_ADDR_LOOPBACK(&address)) return Kind::kLoopback;
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
