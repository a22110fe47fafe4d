#include "credentials/registry_url.h"

#include <arpa/inet.h>

#include <algorithm>

#include "base/text.h"

namespace prefetch::credentials {
namespace {

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
bool IsAlphanumeric(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool IsControl(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}
bool IsAscii(char c) {
  return static_cast<unsigned char>(c) < 0x80;
}

// Returns `text` with each %XX replaced; nullopt if anything else follows a %.
std::optional<std::string> Unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); i++) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size() || base::HexDigit(text[i + 1]) < 0 || base::HexDigit(text[i + 2]) < 0)
      return std::nullopt;
    out += static_cast<char>(base::HexDigit(text[i + 1]) * 16 + base::HexDigit(text[i + 2]));
    i += 2;
  }
  return out;
}

bool IsUserInformation(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) {
                       return IsAlphanumeric(c) ||
                              std::string_view("-._:~!$&'()*+,;=%@").find(c) != std::string_view::npos;
                     }) &&
         Unescape(text).has_value();
}

bool IsPort(std::string_view colon_and_port) {
  if (colon_and_port.empty()) return true;
  std::string_view digits = colon_and_port.substr(1);
  return colon_and_port.front() == ':' && std::all_of(digits.begin(), digits.end(), IsDigit);
}

bool IsHostCharacter(char c) {
  return !IsAscii(c) || IsAlphanumeric(c) ||
         std::string_view("-_.~!$&'()*+,;=<>\"").find(c) != std::string_view::npos;
}

// In a host, Go decodes only bytes beyond ASCII. No image's host has any, so an escape is left as it is.
bool HasOnlyForeignEscapes(std::string_view host) {
  for (std::size_t i = host.find('%'); i != std::string_view::npos; i = host.find('%', i + 1)) {
    if (i + 2 >= host.size() || base::HexDigit(host[i + 1]) < 8 || base::HexDigit(host[i + 2]) < 0)
      return false;
  }
  return true;
}

bool IsName(std::string_view host) {
  return HasOnlyForeignEscapes(host) &&
         std::all_of(host.begin(), host.end(), [](char c) { return c == '%' || IsHostCharacter(c); });
}

// As in Go, an IPv6 address must be a right one, while any port of digits is accepted.
bool IsHost(std::string_view host) {
  if (host.starts_with('[')) {
    std::size_t close = host.find(']');
    if (close == std::string_view::npos || !IsPort(host.substr(close + 1))) return false;
    in6_addr ignored;
    return ::inet_pton(AF_INET6, std::string(host.substr(1, close - 1)).c_str(), &ignored) == 1;
  }
  std::size_t colon = std::min(host.find(':'), host.size());
  return IsPort(host.substr(colon)) && IsName(host.substr(0, colon));
}

}  // namespace

std::optional<RegistryUrl> ParseRegistryUrl(std::string_view text) {
  if (std::any_of(text.begin(), text.end(), IsControl)) return std::nullopt;
  // Fragment, query, path, then user information: the order in which Go's url.Parse takes a URL apart.
  // Another order would read "a?b/c" or "a/b@c" differently.
  std::size_t hash = text.find('#');
  if (hash != std::string_view::npos && !Unescape(text.substr(hash + 1))) return std::nullopt;
  text = text.substr(0, hash);
  text = text.substr(0, text.find('?'));
  std::size_t slash = std::min(text.find('/'), text.size());
  std::string_view authority = text.substr(0, slash);
  std::size_t at = authority.rfind('@');
  if (at != std::string_view::npos) {
    if (!IsUserInformation(authority.substr(0, at))) return std::nullopt;
    authority.remove_prefix(at + 1);
  }
  if (!IsHost(authority)) return std::nullopt;
  std::optional<std::string> path = Unescape(text.substr(slash));
  if (!path) return std::nullopt;
  return RegistryUrl{std::string(authority), std::move(*path)};
}

// An IPv6 address has colons of its own, so its port is behind the bracket.
HostAndPort SplitHostAndPort(std::string_view host) {
  std::size_t colon = host.rfind(':');
  if (host.starts_with('[')) {
    std::size_t close = host.find(']');
    if (close == std::string_view::npos || close + 1 >= host.size()) return {host, {}};
    return {host.substr(1, close - 1), host.substr(close + 2)};
  }
  if (colon == std::string_view::npos) return {host, {}};
  return {host.substr(0, colon), host.substr(colon + 1)};
}

std::string ShownKey(std::string_view key) {
  constexpr std::string_view kAfterScheme = "://";
  key = key.substr(0, key.find_first_of("?#"));
  std::size_t scheme = key.find(kAfterScheme);
  std::size_t start = scheme == std::string_view::npos ? 0 : scheme + kAfterScheme.size();
  // The last @ counts: a password may have a slash or an @ in it, and no registry's path has one.
  std::size_t at = key.rfind('@');
  if (at == std::string_view::npos || at < start) return std::string(key);
  return std::string(key.substr(0, start)) + std::string(key.substr(at + 1));
}

}  // namespace prefetch::credentials
