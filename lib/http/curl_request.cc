#include "http/curl_request.h"

#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <optional>

#include "base/go_url.h"
#include "base/redactor.h"
#include "http/addresses.h"

namespace prefetch::http {

namespace {

bool IsHostName(std::string_view text) {
  return text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:") ==
         std::string_view::npos;
}

}  // namespace

// Rejects what libcurl would send as something else than the caller means. URLs and headers come from
// registries and configuration files, so they are untrusted input.
base::Result<AbsoluteUrl> Check(const Request& request) {
  auto url = ParseAbsoluteUrl(request.url, kMaxRequestUrlBytes);
  if (!url) return url;
  if (!IsFieldName(request.method)) return base::InvalidArgument("the method is no token");
  for (const auto& field : request.headers.fields()) {
    if (!IsFieldName(field.first) || !IsFieldValue(field.second)) {
      return base::InvalidArgument("a header has a character that cannot be sent");
    }
  }
  if (request.tls && !IsHostName(request.tls->server_name)) {
    return base::InvalidArgument("the server name for TLS is no host name");
  }
  if (!IsFieldValue(request.authorization.Reveal())) {
    return base::InvalidArgument("the credential has a character that cannot be sent in a header");
  }
  if (request.secret_header &&
      (!IsFieldName(request.secret_header->name) || !IsFieldValue(request.secret_header->value.Reveal()))) {
    return base::InvalidArgument("a credential's header has a character that cannot be sent");
  }
  if (request.unix_socket.size() >= sizeof(sockaddr_un::sun_path)) {
    return base::InvalidArgument("socket path " + request.unix_socket + " is too long");
  }
  return url;
}

std::string PeerOf(const Request& request) {
  if (!request.unix_socket.empty()) return request.unix_socket;
  std::string_view shown = request.url;
  shown.remove_prefix(shown.find("://") + 3);
  return DisplayUrl(shown.substr(0, shown.find_first_of("/?#")));
}

namespace {

// ":5000" of "r.io:5000". Colons in the brackets of an IPv6 address begin no port.
std::string_view PortOf(std::string_view authority) {
  const std::size_t colon = authority.rfind(':');
  if (colon == std::string_view::npos || authority.find(']', colon) != std::string_view::npos) return {};
  return authority.substr(colon);
}

}  // namespace

// libcurl takes the name for TLS from the URL. So the URL gets the name that the certificate must have, and
// the connection and the Host header keep the address.
ServerNameOverride OverrideServerName(const Request& request) {
  if (!request.tls || request.tls->server_name.empty() || !request.url.starts_with("https://")) return {};
  std::string rest = request.url.substr(std::string_view("https://").size());
  std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  std::string authority = rest.substr(0, end);
  const std::string port(PortOf(authority));
  bool ipv6 = request.tls->server_name.find(':') != std::string::npos;
  std::string name = ipv6 ? "[" + request.tls->server_name + "]" : request.tls->server_name;
  return {.url = "https://" + name + port + rest.substr(end),
          .host_header = authority,
          .connect_to = "::" + authority + (port.empty() ? ":" : "")};
}

namespace {

constexpr char kSequence = 0x30, kBitString = 0x03;

// Takes an element of DER with this tag from the front: its tag, its length, its content.
std::optional<std::string_view> Take(std::string_view& der, char tag) {
  if (der.size() < 2 || der[0] != tag) return std::nullopt;
  std::size_t length = static_cast<unsigned char>(der[1]), head = 2;
  if (length >= 0x80) {
    // The byte of a long one tells how many bytes the length has.
    const std::size_t bytes = length - 0x80;
    if (bytes == 0 || bytes > 3 || der.size() < head + bytes) return std::nullopt;
    length = 0;
    for (; head < 2 + bytes; head++) length = length << 8 | static_cast<unsigned char>(der[head]);
  }
  if (length > der.size() - head) return std::nullopt;
  const std::string_view content = der.substr(head, length);
  der.remove_prefix(head + length);
  return content;
}

// Returns true for what is to be signed, an algorithm and a signature, as a certificate is.
bool LooksLikeCertificate(std::string_view der) {
  auto whole = Take(der, kSequence);
  return whole && der.empty() && Take(*whole, kSequence) && Take(*whole, kSequence) &&
         Take(*whole, kBitString) && whole->empty();
}

}  // namespace

std::string UsableCertificates(std::string_view pem) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----", kEnd = "-----END CERTIFICATE-----";
  std::string usable;
  for (std::size_t at = pem.find(kBegin); at != std::string_view::npos; at = pem.find(kBegin)) {
    pem.remove_prefix(at + kBegin.size());
    std::string digits(pem.substr(0, pem.find("-----")));
    pem.remove_prefix(digits.size());
    std::erase_if(digits, [](char c) { return c == '\n' || c == '\r' || c == ' ' || c == '\t'; });
    const auto der = base::Base64Decode(digits);
    if (!pem.starts_with(kEnd) || !der || !LooksLikeCertificate(*der)) continue;
    usable += std::string(kBegin) + "\n";
    for (std::size_t i = 0; i < digits.size(); i += 64) usable += digits.substr(i, 64) + "\n";
    usable += std::string(kEnd) + "\n";
  }
  return usable;
}

std::string NormalizeProxyUrl(std::string_view text) {
  if (text.empty()) return "";
  const std::size_t colon = text.find("://");
  const bool has_scheme = colon != std::string_view::npos;
  std::string scheme = has_scheme ? base::ToLower(text.substr(0, colon)) : "http";
  if (has_scheme) text.remove_prefix(colon + 3);
  std::string authority(text.substr(0, text.find_first_of("/?#")));
  std::string_view host = authority;
  if (std::size_t at = host.rfind('@'); at != std::string_view::npos) host.remove_prefix(at + 1);
  const std::string_view port = PortOf(host);
  if (port == ":") authority.pop_back();
  const bool socks = scheme.starts_with("socks5");
  if (port.size() <= 1) authority += socks ? ":1080" : scheme == "https" ? ":443" : ":80";
  // socks5h leaves the names to the proxy, as Go does. With socks5, libcurl would look them up here.
  return (socks ? "socks5h" : scheme) + "://" + authority;
}

void RememberProxyPasswords(const CurlOptions& options) {
  for (const std::string* proxy : {&options.proxy, &options.http_proxy, &options.https_proxy}) {
    std::string_view authority = *proxy;
    if (auto scheme = authority.find("://"); scheme != std::string_view::npos)
      authority.remove_prefix(scheme + 3);
    authority = authority.substr(0, authority.find('/'));
    // The first colon ends the user name, and the last @ the password, which may contain both.
    const std::size_t at = authority.rfind('@'), colon = authority.find(':');
    if (at == std::string_view::npos || colon > at) continue;
    const std::string_view written = authority.substr(colon + 1, at - colon - 1);
    base::RememberSecret(base::Secret(std::string(written)));
    // The password goes out decoded, and may be repeated in either form.
    if (auto decoded = base::PercentDecode(written)) base::RememberSecret(base::Secret(*std::move(decoded)));
  }
}

const char* ProxyFor(const CurlOptions& options, const std::string& url) {
  if (!options.proxy.empty()) return options.proxy.c_str();
  auto parsed = ParseAbsoluteUrl(url, kMaxRequestUrlBytes);
  if (!parsed || BypassesProxy(options.no_proxy, *parsed)) return "";
  return parsed->scheme == "https" ? options.https_proxy.c_str() : options.http_proxy.c_str();
}

void AddHeaders(const Request& request, const ServerNameOverride& override_name, HeaderLines& lines) {
  if (!override_name.host_header.empty()) lines.Add("Host", override_name.host_header);
  for (const auto& field : request.headers.fields()) lines.Add(field.first, field.second);
  if (!request.authorization.empty()) lines.Add("Authorization", request.authorization.Reveal());
  if (request.secret_header) lines.Add(request.secret_header->name, request.secret_header->value.Reveal());
  lines.Suppress("Expect");  // waiting for a "100 Continue" costs a second where a server knows none
  if (!request.headers.Has("Content-Type")) lines.Suppress("Content-Type");
}

namespace {

std::optional<in6_addr> ParseAddress(std::string_view text) {
  return IsAddress(text) ? ToIpv6(text) : std::nullopt;
}

bool IsLoopback(const in6_addr& address) {
  return IN6_IS_ADDR_V4MAPPED(&address) ? address.s6_addr[12] == 127 : IN6_IS_ADDR_LOOPBACK(&address);
}

bool NameCovers(std::string_view pattern, std::string_view host) {
  if (pattern.starts_with("*.")) pattern.remove_prefix(1);
  if (pattern.front() == '.') return host.ends_with(pattern);  // below it only
  if (!host.ends_with(pattern)) return false;
  const std::size_t before = host.size() - pattern.size();
  // "example.com" covers "a.example.com", and not "badexample.com".
  return before == 0 || host[before - 1] == '.';
}

bool EntryCovers(const std::string& entry, const AbsoluteUrl& url, const std::optional<in6_addr>& address) {
  if (entry == "*") return true;
  // A CIDR comes before host and port: an IPv6 network has colons, too. Names are not resolved for this, as
  // in Go: a CIDR covers addresses only.
  if (auto network = ParseNetwork(entry)) return address && network->Contains(*address);
  const base::HostAndPort wanted = base::SplitHostPort(entry);
  if (wanted.host.empty()) return false;
  if (!wanted.port.empty() && wanted.port != std::to_string(url.port)) return false;
  if (auto ip = ParseAddress(wanted.host)) return address && IN6_ARE_ADDR_EQUAL(&*ip, &*address);
  return NameCovers(wanted.host, url.host);
}

}  // namespace

bool BypassesProxy(std::string_view no_proxy, const AbsoluteUrl& url) {
  // Go never reaches this machine by a proxy, whatever the list says.
  if (url.host == "localhost") return true;
  std::optional<in6_addr> address = ParseAddress(url.host);
  if (address && IsLoopback(*address)) return true;
  for (std::string_view part : base::Split(no_proxy, ',')) {
    std::string entry = base::ToLower(base::TrimSpace(part));
    if (!entry.empty() && EntryCovers(entry, url, address)) return true;
  }
  return false;
}

}  // namespace prefetch::http
