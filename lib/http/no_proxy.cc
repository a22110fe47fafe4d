#include "http/curl_request.h"

#include <netinet/in.h>

#include <optional>
#include <string>

#include "base/text.h"
#include "http/addresses.h"

namespace prefetch::http {
namespace {

// An IPv4 address is represented by its IPv4-mapped IPv6 address, as in Go.
using Address = in6_addr;

std::optional<Address> ParseAddress(const std::string& text) {
  return IsAddress(text) ? AsV6(text) : std::nullopt;
}

bool IsV4(const Address& address) {
  return IN6_IS_ADDR_V4MAPPED(&address);
}

bool IsLoopback(const Address& address) {
  return IsV4(address) ? address.s6_addr[12] == 127 : IN6_IS_ADDR_LOOPBACK(&address);
}

bool SamePrefix(const Address& a, const Address& b, unsigned bits) {
  for (unsigned i = 0; i < bits; i++) {
    unsigned char mask = static_cast<unsigned char>(0x80U >> (i % 8));
    if ((a.s6_addr[i / 8] & mask) != (b.s6_addr[i / 8] & mask)) return false;
  }
  return true;
}

// Returns nullopt if the entry is no CIDR.
std::optional<bool> CidrCovers(const std::string& entry, const std::optional<Address>& address) {
  std::size_t slash = entry.find('/');
  if (slash == std::string::npos) return std::nullopt;
  std::string written = entry.substr(0, slash);
  auto network = ParseAddress(written);
  auto bits = base::ParseUint(entry.substr(slash + 1));
  bool v4 = written.find(':') == std::string::npos;
  if (!network || !bits || *bits > (v4 ? 32U : 128U)) return std::nullopt;
  // Names are not resolved for this, as in Go: a CIDR covers addresses only.
  if (!address || IsV4(*address) != v4) return false;
  // An IPv4 address begins at bit 96 of its mapped form.
  return SamePrefix(*network, *address, static_cast<unsigned>(*bits) + (v4 ? 96 : 0));
}

struct HostEntry {
  std::string host;
  std::string port;  // empty: any
};

// Splits as Go's net.SplitHostPort does: "::1" is no host with a port.
HostEntry SplitEntry(const std::string& entry) {
  std::size_t colon = entry.rfind(':');
  if (colon == std::string::npos) return {entry, ""};
  if (entry.front() == '[') {
    std::size_t close = entry.find(']');
    if (close == std::string::npos || close + 1 != colon) return {entry, ""};
    return {entry.substr(1, close - 1), entry.substr(colon + 1)};
  }
  if (entry.find(':') != colon) return {entry, ""};
  return {entry.substr(0, colon), entry.substr(colon + 1)};
}

bool NameCovers(std::string_view pattern, std::string_view host) {
  if (pattern.starts_with("*.")) pattern.remove_prefix(1);
  if (pattern.front() == '.') return host.ends_with(pattern);  // below it only
  if (!host.ends_with(pattern)) return false;
  const std::size_t before = host.size() - pattern.size();
  // "example.com" covers "a.example.com", and not "badexample.com".
  return before == 0 || host[before - 1] == '.';
}

bool EntryCovers(const std::string& entry, const AbsoluteUrl& url, const std::optional<Address>& address) {
  if (entry == "*") return true;
  // A CIDR comes before host and port: an IPv6 network has colons, too.
  if (auto cidr = CidrCovers(entry, address)) return *cidr;
  HostEntry wanted = SplitEntry(entry);
  if (wanted.host.empty()) return false;
  if (!wanted.port.empty() && wanted.port != std::to_string(url.port)) return false;
  if (auto ip = ParseAddress(wanted.host)) return address && IN6_ARE_ADDR_EQUAL(&*ip, &*address);
  return NameCovers(wanted.host, url.host);
}

}  // namespace

bool BypassesProxy(std::string_view no_proxy, const AbsoluteUrl& url) {
  // Go never reaches this machine by a proxy, whatever the list says.
  if (url.host == "localhost") return true;
  std::optional<Address> address = ParseAddress(url.host);
  if (address && IsLoopback(*address)) return true;
  for (std::string_view part : base::Split(no_proxy, ',')) {
    std::string entry = base::ToLower(base::TrimSpace(part));
    if (!entry.empty() && EntryCovers(entry, url, address)) return true;
  }
  return false;
}

}  // namespace prefetch::http
