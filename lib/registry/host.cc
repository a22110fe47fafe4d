#include "registry/host.h"

#include <arpa/inet.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "http/url.h"

namespace prefetch::registry {

namespace {

constexpr std::string_view kDockerHub = "docker.io";
constexpr std::string_view kDockerHubServer = "registry-1.docker.io";

http::AbsoluteUrl Server(std::string_view scheme, std::string_view registry) {
  auto url = http::ParseAbsoluteUrl(std::string(scheme) + "://" + std::string(registry) + "/v2");
  // A reference's domain is a host by its grammar; an invalid one names a host that does not exist.
  if (url) return *std::move(url);
  return {.scheme = std::string(scheme), .host = "invalid", .port = 443, .target = "/v2"};
}

bool WritesPort(std::string_view registry) {
  std::size_t colon = registry.rfind(':');
  return colon != std::string_view::npos && registry.find(']', colon) == std::string_view::npos;
}

}  // namespace

RuntimeRules RulesOf(std::string_view containerd_version) {
  if (containerd_version.starts_with('v')) containerd_version.remove_prefix(1);
  std::vector<std::string_view> parts = base::Split(containerd_version, '.');
  bool old = parts.size() >= 2 && parts[0] == "1" && base::ParseUint(parts[1]).value_or(99) <= 6;
  return {.hosts_table_required = old, .localhost_plain_only = old};
}

bool IsAddress(std::string_view host) {
  unsigned char bytes[16];
  std::string text(host);
  return ::inet_pton(AF_INET, text.c_str(), bytes) == 1 || ::inet_pton(AF_INET6, text.c_str(), bytes) == 1;
}

bool IsLocalhost(std::string_view host) {
  return host == "localhost" || host == "::1" || (host.starts_with("127.") && IsAddress(host));
}

Host DefaultHost(std::string_view registry, const RuntimeRules& rules) {
  if (registry == kDockerHub) registry = kDockerHubServer;
  Host host{.server = Server("https", registry)};
  if (!IsLocalhost(host.server.host) || !WritesPort(registry) || host.server.port == 443) return host;
  host.server = Server("http", registry);
  host.https_first = !rules.localhost_plain_only;
  host.skip_verify = host.https_first && host.server.port != 80;
  return host;
}

Host CrioHost(std::string_view registry, bool insecure) {
  if (registry == kDockerHub) registry = kDockerHubServer;
  Host host{.server = Server("https", registry)};
  if (!insecure) return host;
  host.https_port = host.server.port;
  host.server = Server("http", registry);
  host.https_first = true;
  host.http_after_all = true;
  host.skip_verify = true;
  return host;
}

bool IsOwnServer(const http::AbsoluteUrl& server, std::string_view registry) {
  std::string_view own = registry == kDockerHub ? kDockerHubServer : registry;
  http::AbsoluteUrl meant = Server(server.scheme, own);
  return meant.host == server.host && meant.port == server.port;
}

namespace {

http::AbsoluteUrl On(const Host& host, const image::Reference& reference, const std::string& path) {
  http::AbsoluteUrl url = host.server;
  url.target += path;
  if (!IsOwnServer(host.server, reference.domain())) {
    url.target += "?ns=" + http::PercentEncode(reference.domain());
  }
  return url;
}

}  // namespace

http::AbsoluteUrl ManifestUrl(const Host& host, const image::Reference& reference) {
  const std::string& which = reference.has_digest() ? reference.digest() : reference.tag();
  return On(host, reference, "/" + reference.path() + "/manifests/" + which);
}

http::AbsoluteUrl BlobUrl(const Host& host, const image::Reference& reference) {
  return On(host, reference, "/" + reference.path() + "/blobs/" + reference.digest());
}

http::AbsoluteUrl ApiRootUrl(const Host& host, const image::Reference& reference) {
  return On(host, reference, "/");
}

}  // namespace prefetch::registry
