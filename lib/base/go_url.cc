#include "base/go_url.h"

#include <algorithm>
#include <filesystem>

#include "base/fs.h"
#include "base/text.h"

namespace prefetch::base {
namespace {

bool IsOneOf(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

// Go accepts these characters in a host without an escape.
bool FitsInHost(char c) {
  bool ascii = static_cast<unsigned char>(c) < 0x80;
  return !ascii || IsAlphanumeric(c) || IsOneOf(c, "-_.~!$&'()*+,;=:[]<>\"");
}

bool FitsInUser(char c) {
  return IsAlphanumeric(c) || IsOneOf(c, "-._:~!$&'()*+,;=%@");
}

// In a host, characters beyond ASCII and "%" alone may be escaped.
std::optional<std::string> UnescapedHost(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); i++) {
    if (text[i] != '%') {
      if (!FitsInHost(text[i])) return std::nullopt;
    } else if (i + 1 < text.size() && HexDigit(text[i + 1]) < 8 && text.substr(i, 3) != "%25") {
      return std::nullopt;
    }
  }
  return PercentDecode(text);
}

bool IsPortOrNothing(std::string_view text) {
  if (text.empty()) return true;
  return text[0] == ':' && std::all_of(text.begin() + 1, text.end(), IsDigit);
}

// Only brackets and the port are checked, as in Go. A port needs digits, and any number of them is accepted.
bool IsHost(std::string_view text) {
  if (text.starts_with('[')) {
    std::size_t end = text.rfind(']');
    return end != std::string_view::npos && IsPortOrNothing(text.substr(end + 1));
  }
  std::size_t colon = text.rfind(':');
  return colon == std::string_view::npos || IsPortOrNothing(text.substr(colon));
}

// "user:password@host:port".
std::optional<std::string> HostOf(std::string_view authority) {
  std::size_t at = authority.rfind('@');
  if (at != std::string_view::npos) {
    std::string_view user = authority.substr(0, at);
    if (!std::all_of(user.begin(), user.end(), FitsInUser) || !PercentDecode(user)) return std::nullopt;
    authority.remove_prefix(at + 1);
  }
  if (!IsHost(authority)) return std::nullopt;
  return UnescapedHost(authority);
}

// Takes the scheme off the front of `rest`. Returns false if a colon has no scheme before it.
bool TakeScheme(std::string_view& rest, std::string& scheme) {
  for (std::size_t i = 0; i < rest.size(); i++) {
    char c = rest[i];
    if (c == ':') {
      scheme = ToLower(rest.substr(0, i));
      rest.remove_prefix(i + 1);
      return i > 0;
    }
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && (i == 0 || !(IsAlphanumeric(c) || IsOneOf(c, "+-.")))) return true;
  }
  return true;
}

}  // namespace

// Follows the order of Go's url.Parse: fragment, scheme, query, authority, path. In another order, a colon or
// slash in one part would be taken for the end of another.
std::optional<GoUrl> ParseGoUrl(std::string_view text) {
  auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(text.begin(), text.end(), control)) return std::nullopt;
  std::size_t hash = text.find('#');
  if (hash != std::string_view::npos && !PercentDecode(text.substr(hash + 1))) return std::nullopt;
  std::string_view rest = text.substr(0, hash);
  GoUrl url;
  if (!TakeScheme(rest, url.scheme)) return std::nullopt;
  rest = rest.substr(0, rest.find('?'));
  if (!rest.starts_with('/')) {
    if (!url.scheme.empty()) return url;  // "http:opaque"
    if (rest.substr(0, rest.find('/')).find(':') != std::string_view::npos) return std::nullopt;
  }
  bool authority = rest.starts_with("//") && (!url.scheme.empty() || !rest.starts_with("///"));
  if (authority) {
    rest.remove_prefix(2);
    auto host = HostOf(rest.substr(0, rest.find('/')));
    if (!host) return std::nullopt;
    url.host = std::move(*host);
    rest.remove_prefix(std::min(rest.find('/'), rest.size()));
  }
  auto path = PercentDecode(rest);
  if (!path) return std::nullopt;
  url.path = std::move(*path);
  return url;
}

HostAndPort SplitHostPort(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {text, {}};
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos || close + 1 != colon) return {text, {}};
    return {text.substr(1, close - 1), text.substr(colon + 1)};
  }
  if (text.find(':') != colon) return {text, {}};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

std::string CleanedPath(std::string_view path) {
  return WithoutTrailingSlashes(std::filesystem::path(path).lexically_normal().string());
}

std::string EscapedPath(std::string_view path) {
  const auto valid = [](char c) { return IsAlphanumeric(c) || IsOneOf(c, "-_.~$&+,/:;=@!'()*[]"); };
  if (std::all_of(path.begin(), path.end(), valid)) return std::string(path);
  return PercentEncode(path, "$&+,/:;=@");
}

}  // namespace prefetch::base
