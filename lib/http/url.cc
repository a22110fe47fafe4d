#include "http/url.h"

#include <algorithm>

#include "base/redactor.h"
#include "base/text.h"

namespace prefetch::http {

namespace {

constexpr std::size_t kMaxParameters = 100;  // a list check asks for less than ten
constexpr std::size_t kMaxDisplayBytes = 200;

bool IsVisibleAscii(char c) {
  return c > 0x20 && c < 0x7f;
}

// Returns decoded text that the rest of the program can take, without NUL and in UTF-8; nullopt otherwise.
std::optional<std::string> CleanDecode(std::string_view text) {
  auto decoded = base::PercentDecode(text);
  if (!decoded || decoded->find('\0') != std::string::npos || !base::IsUtf8(*decoded)) return std::nullopt;
  return decoded;
}

std::optional<std::string> DecodeParameter(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return CleanDecode(spaced);
}

// Returns "/x?y" for "http://host:1/x?y", which a proxy may send (RFC 9112 section 3.2.2).
std::string_view WithoutAuthority(std::string_view target) {
  for (std::string_view scheme : {"http://", "https://"}) {
    if (!base::EqualsIgnoreCase(target.substr(0, scheme.size()), scheme)) continue;
    std::size_t slash = target.find_first_of("/?", scheme.size());
    return slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
  }
  return target;
}

}  // namespace

base::Result<Target> ParseTarget(std::string_view target) {
  // A stricter rule than libmicrohttpd's, so that what is logged and compared is exactly what was sent.
  if (!std::all_of(target.begin(), target.end(), IsVisibleAscii)) {
    return base::InvalidArgument("the request target has a character that must be percent-encoded");
  }
  if (target.find('#') != std::string_view::npos) {
    return base::InvalidArgument("the request target has a fragment");
  }
  target = WithoutAuthority(target);
  // The target is split before it is decoded: an escaped "?" or "&" is part of a name.
  std::size_t question = target.find('?');
  std::string_view raw_path = target.substr(0, question);
  if (raw_path.empty() || raw_path.front() != '/') {
    return base::InvalidArgument("the request target is no absolute path");
  }
  auto path = CleanDecode(raw_path);
  if (!path) return base::InvalidArgument("the path has an invalid percent escape");
  Target result{.path = std::move(*path)};
  if (question == std::string_view::npos) return result;

  for (std::string_view parameter : base::Split(target.substr(question + 1), '&')) {
    // "?a&&b" and a trailing "&" are common, and name nothing.
    if (parameter.empty()) continue;
    if (result.query.size() == kMaxParameters) return base::InvalidArgument("too many query parameters");
    std::size_t equals = parameter.find('=');
    auto name = DecodeParameter(parameter.substr(0, equals));
    auto value =
        DecodeParameter(equals == std::string_view::npos ? std::string_view() : parameter.substr(equals + 1));
    if (!name || !value) return base::InvalidArgument("the query has an invalid percent escape");
    result.query.emplace_back(std::move(*name), std::move(*value));
  }
  return result;
}

std::string DisplayUrl(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  std::string shown;
  std::size_t scheme_end = url.find("://");
  if (scheme_end != std::string_view::npos) {
    shown = url.substr(0, scheme_end + 3);
    url.remove_prefix(scheme_end + 3);
  }
  // A password may contain an unescaped "/", so everything before the last "@" is taken for userinfo, even if
  // that hides a part of a path.
  std::size_t at = url.rfind('@');
  if (at != std::string_view::npos) url.remove_prefix(at + 1);
  shown.append(url.begin(), std::find_if_not(url.begin(), url.end(), IsVisibleAscii));
  // A redirect or a realm may repeat a secret in its host or path.
  return base::Truncate(base::Redact(shown), kMaxDisplayBytes);
}

namespace {

bool IsHostCharacter(char c) {
  return base::IsLowerOrDigit(c) || c == '-' || c == '.' || c == '_';
}

bool IsIpv6Character(char c) {
  return (c >= 'a' && c <= 'f') || (c >= '0' && c <= '9') || c == ':' || c == '.';
}

// Bytes beyond ASCII pass. A blank or a control character could change the request that is made of the URL.
bool IsUrlText(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > 0x20 && c != 0x7f; });
}

// "%25eth0": the interface of a link-local address (RFC 6874).
bool IsZone(std::string_view zone) {
  if (zone.empty()) return true;
  if (!zone.starts_with("%25") || zone.size() == 3) return false;
  return std::all_of(zone.begin() + 3, zone.end(),
                     [](char c) { return base::IsAlphanumeric(c) || IsHostCharacter(c) || c == '~'; });
}

base::Status ReadHost(std::string_view& authority, AbsoluteUrl& url) {
  bool brackets = authority.starts_with('[');
  // A colon inside brackets belongs to the IPv6 address.
  std::size_t end = brackets ? authority.find(']') : authority.find(':');
  if (brackets && end == std::string_view::npos) return base::InvalidArgument("the URL's host has no \"]\"");
  const std::string_view host = brackets ? authority.substr(1, end - 1) : authority.substr(0, end);
  const std::string_view zone = brackets ? host.substr(std::min(host.find('%'), host.size())) : "";
  const std::string_view name = host.substr(0, host.size() - zone.size());
  url.host = base::ToLower(name);
  auto fits = brackets ? IsIpv6Character : IsHostCharacter;
  if (url.host.empty()) return base::InvalidArgument("the URL names no host");
  if (host.size() > 253 || !std::all_of(url.host.begin(), url.host.end(), fits) || !IsZone(zone)) {
    return base::InvalidArgument("the URL's host is no host name");
  }
  url.host += zone;  // names of interfaces have large letters, too
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

std::string ResolvedTarget(std::string_view target) {
  const std::size_t query = std::min(target.find_first_of("?#"), target.size());
  return WithoutDots(target.substr(0, query)).append(target.substr(query));
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

base::Result<AbsoluteUrl> ParseAbsoluteUrl(std::string_view text, std::size_t max_bytes) {
  if (text.size() > max_bytes) return base::InvalidArgument("the URL is too long");
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
  if (location.size() > kMaxUrlBytes) return base::InvalidArgument("the URL is too long");
  if (location.empty()) return base::InvalidArgument("the URL is empty");
  // No server gets the fragment, whatever stands in it.
  location = location.substr(0, location.find('#'));
  if (location.empty()) return base;
  std::size_t end = location.find_first_of("/?#");
  // A scheme ends with a colon before any "/", "?" or "#".
  bool absolute = location.substr(0, end).find(':') != std::string_view::npos;
  if (absolute || location.starts_with("//")) {
    auto url = ParseAbsoluteUrl((absolute ? "" : base.scheme + ":") + std::string(location));
    if (url) url->target = ResolvedTarget(url->target);  // as Go's client does
    return url;
  }

  std::string_view path = std::string_view(base.target).substr(0, base.target.find('?'));
  std::string target;
  if (location.starts_with('/')) {
    target = location;
  } else if (location.starts_with('?')) {
    target = std::string(path) + std::string(location);
  } else {
    target = std::string(path.substr(0, path.rfind('/') + 1)) + std::string(location);
  }
  return ParseAbsoluteUrl(base.Origin() + ResolvedTarget(target));
}

}  // namespace prefetch::http
