#include "http/absolute_url.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace prefetch::http {
namespace {

constexpr std::size_t kMaxBytes = 8 * 1024;

bool IsHostCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

bool IsIpv6Character(char c) {
  return (c >= 'a' && c <= 'f') || (c >= '0' && c <= '9') || c == ':' || c == '.';
}

// Bytes beyond ASCII pass. A blank or a control character could change the request that is made of the URL.
bool IsUrlText(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > 0x20 && c != 0x7f; });
}

base::Status ReadHost(std::string_view& authority, AbsoluteUrl& url) {
  bool brackets = authority.starts_with('[');
  // A colon inside brackets belongs to the IPv6 address.
  std::size_t end = brackets ? authority.find(']') : authority.find(':');
  if (brackets && end == std::string_view::npos) return base::InvalidArgument("the URL's host has no \"]\"");
  url.host = base::ToLower(brackets ? authority.substr(1, end - 1) : authority.substr(0, end));
  auto fits = brackets ? IsIpv6Character : IsHostCharacter;
  if (url.host.empty()) return base::InvalidArgument("the URL names no host");
  if (url.host.size() > 253 || !std::all_of(url.host.begin(), url.host.end(), fits)) {
    return base::InvalidArgument("the URL's host is no host name");
  }
  authority.remove_prefix(std::min(end + (brackets ? 1 : 0), authority.size()));
  return {};
}

base::Status ReadPort(std::string_view rest, AbsoluteUrl& url) {
  url.port = url.scheme == "https" ? 443 : 80;
  // An empty port means the scheme's (RFC 3986 section 6.2.3).
  if (rest.empty() || rest == ":") return {};
  auto port = rest.front() == ':' ? base::ParseUint(rest.substr(1)) : std::nullopt;
  if (!port || *port == 0 || *port > 65535) return base::InvalidArgument("the URL's port is no port");
  url.port = static_cast<std::uint16_t>(*port);
  return {};
}

// Returns the path without "." and ".." (RFC 3986 section 5.2.4). A final one leaves an empty part, so that
// the path still ends with a slash.
std::string WithoutDots(std::string_view path) {
  std::vector<std::string> kept;
  std::vector<std::string_view> parts = base::Split(path.substr(1), '/');
  for (std::size_t i = 0; i < parts.size(); i++) {
    bool last = i + 1 == parts.size();
    bool dots = parts[i] == "." || parts[i] == "..";
    if (parts[i] == ".." && !kept.empty()) kept.pop_back();
    if (!dots) kept.emplace_back(parts[i]);
    if (dots && last) kept.emplace_back();
  }
  return "/" + base::Join(kept, "/");
}

}  // namespace

std::string AbsoluteUrl::HostPort() const {
  std::string shown = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return shown + ":" + std::to_string(port);
}

std::string AbsoluteUrl::Authority() const {
  std::string whole = HostPort();
  // Two URLs of one server have to give one text, so the implied port is left out.
  if (port == (scheme == "https" ? 443 : 80)) whole.resize(whole.rfind(':'));
  return whole;
}

std::string AbsoluteUrl::Origin() const {
  return scheme + "://" + Authority();
}

base::Result<AbsoluteUrl> ParseAbsoluteUrl(std::string_view text) {
  if (text.size() > kMaxBytes) return base::InvalidArgument("the URL is too long");
  if (!IsUrlText(text)) return base::InvalidArgument("the URL contains a space or a control character");
  AbsoluteUrl url;
  std::size_t colon = text.find("://");
  url.scheme = base::ToLower(text.substr(0, std::min(colon, text.size())));
  if (colon == std::string_view::npos || (url.scheme != "http" && url.scheme != "https")) {
    return base::InvalidArgument("this is no http or https URL");
  }
  text.remove_prefix(colon + 3);
  text = text.substr(0, text.find('#'));
  // Some parsers treat "\" as "/". If it were taken for a part of the host, they and this one would see
  // different hosts.
  std::size_t end = std::min(text.find_first_of("/?\\"), text.size());
  std::string_view authority = text.substr(0, end);
  // A redirect must not choose the credentials that are sent to its target.
  if (authority.find('@') != std::string_view::npos) {
    return base::InvalidArgument("credentials in a URL are not accepted");
  }
  if (base::Status host = ReadHost(authority, url); !host) return std::move(host).error();
  if (base::Status port = ReadPort(authority, url); !port) return std::move(port).error();
  url.target = text.substr(end);
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  return url;
}

base::Result<AbsoluteUrl> ResolveLocation(const AbsoluteUrl& base, std::string_view location) {
  if (location.size() > kMaxBytes) return base::InvalidArgument("the URL is too long");
  if (location.empty()) return base::InvalidArgument("the URL is empty");
  // No server gets the fragment, whatever stands in it.
  location = location.substr(0, location.find('#'));
  if (location.empty()) return base;
  std::size_t end = location.find_first_of("/?#");
  // A scheme ends with a colon before any "/", "?" or "#".
  bool absolute = location.substr(0, end).find(':') != std::string_view::npos;
  if (absolute) return ParseAbsoluteUrl(location);
  if (location.starts_with("//")) return ParseAbsoluteUrl(base.scheme + ":" + std::string(location));

  std::string_view path = std::string_view(base.target).substr(0, base.target.find('?'));
  std::string target;
  if (location.starts_with('/')) {
    target = location;
  } else if (location.starts_with('?')) {
    target = std::string(path) + std::string(location);
  } else {
    target = std::string(path.substr(0, path.rfind('/') + 1)) + std::string(location);
  }
  std::size_t query = std::min(target.find_first_of("?#"), target.size());
  return ParseAbsoluteUrl(base.Origin() + WithoutDots(std::string_view(target).substr(0, query)) +
                          target.substr(query));
}

}  // namespace prefetch::http
