#include "http/host_names.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>

#include "base/text.h"

namespace prefetch::http {
namespace {

// Nobody can register names below .localhost, .local and .internal (RFC 6761, RFC 6762, ICANN's resolution on
// .internal). The others are no public suffixes: only a cluster's own servers know "prefetchd.prefetchd.svc",
// and "prefetchd.prefetchd" in the usual namespace.
constexpr std::string_view kPrivateSuffixes[] = {".localhost", ".svc", ".local", ".internal", ".prefetchd"};

bool IsAddress(const std::string& text) {
  in6_addr v6{};
  in_addr v4{};
  return ::inet_pton(AF_INET, text.c_str(), &v4) == 1 || ::inet_pton(AF_INET6, text.c_str(), &v6) == 1;
}

// Returns the name without port and brackets; empty if it is malformed.
std::string NameOf(std::string_view host) {
  std::string_view port;
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos) return "";
    port = host.substr(end + 1);
    host = host.substr(1, end - 1);
  } else if (const std::size_t colon = host.find(':'); colon != std::string_view::npos) {
    port = host.substr(colon);
    host = host.substr(0, colon);
  }
  if (!port.empty() && (port.front() != ':' || (port.size() > 1 && !base::ParseUint(port.substr(1)))))
    return "";
  // A dot at the end only makes the name absolute.
  if (host.size() > 1 && host.ends_with('.')) host.remove_suffix(1);
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == ':';
  };
  std::string name = base::ToLower(host);
  return std::all_of(name.begin(), name.end(), fits) ? name : "";
}

}  // namespace

bool IsHostOfOurs(std::string_view host, const std::vector<std::string_view>& own) {
  if (host.empty()) return true;
  const std::string name = NameOf(host);
  if (name.empty()) return false;
  // A page under an address was served by that address, so it is not a stranger's page.
  if (IsAddress(name)) return true;
  if (name.find(':') != std::string::npos) return false;
  // No public registry gives out a name without a dot.
  if (name.find('.') == std::string::npos) return true;
  const auto is_name = [&](std::string_view each) { return base::EqualsIgnoreCase(each, name); };
  const auto ends_name = [&](std::string_view each) { return name.ends_with(each); };
  return std::any_of(own.begin(), own.end(), is_name) ||
         std::any_of(std::begin(kPrivateSuffixes), std::end(kPrivateSuffixes), ends_name);
}

bool MayBeOfAPage(const ServerRequest& request, const std::vector<std::string_view>& own) {
  bool ours = true;
  for (const auto& [name, value] : request.headers.fields()) {
    // Every Host header has to fit: a request may have several.
    if (base::EqualsIgnoreCase(name, "Host")) ours = ours && IsHostOfOurs(value, own);
  }
  // A page cannot set a header that begins with "Sec-".
  if (ours || request.headers.Has(kNoPageHeader)) return false;
  return request.headers.Get("Accept-Encoding").value_or("") != "gzip";
}

std::vector<std::string> InterfaceAddresses() {
  std::vector<std::string> addresses;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return addresses;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    char text[NI_MAXHOST] = "";
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (::getnameinfo(one->ifa_addr, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0)
      addresses.emplace_back(text);
  }
  ::freeifaddrs(all);
  return addresses;
}

std::vector<std::string> AddressesOf(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::vector<std::string> addresses;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    char text[NI_MAXHOST] = "";
    if (::getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0) {
      addresses.emplace_back(text);
    }
  }
  ::freeaddrinfo(found);
  return addresses;
}

}  // namespace prefetch::http
