#include "registry/host.h"

#include <array>
#include <limits>
#include <tuple>

#include "base/text.h"
#include "http/addresses.h"

namespace prefetch::registry {

namespace {

// Docker Hub's server has another name than the registry.
http::AbsoluteUrl Server(std::string_view scheme, std::string_view registry) {
  if (registry == image::kDockerHub) registry = image::kDockerHubServer;
  auto url = http::ParseAbsoluteUrl(std::string(scheme) + "://" + std::string(registry) + "/v2");
  // The grammar of references lets only hosts pass as domains. If one fails all the same, the URL names a
  // host that does not exist, so that no other server is asked by mistake.
  if (url) return *std::move(url);
  return {.scheme = std::string(scheme), .host = "invalid", .port = 443, .target = "/v2"};
}

}  // namespace

bool HasPort(std::string_view registry) {
  std::size_t colon = registry.rfind(':');
  return colon != std::string_view::npos && registry.find(']', colon) == std::string_view::npos;
}

bool IsLocalhost(std::string_view host) {
  return host == "localhost" || host == "::1" || (host.starts_with("127.") && http::IsAddress(host));
}

// containerd tries https on a host with scheme http if it has a TLS configuration. The releases differ in the
// exception for port 80 (`rules`).
void PreferHttps(Host& host, bool has_port, bool tls, const RuntimeRules& rules) {
  auto tries_it = [&] {
    switch (rules.tls_before_http) {
      case TlsBeforeHttp::kNever:
        return false;
      case TlsBeforeHttp::kAlways:
        return true;
      case TlsBeforeHttp::kUnlessPort80OrNone:
        return host.server.port != 80;
      case TlsBeforeHttp::kUnlessPort80:
        return !has_port || host.server.port != 80;
    }
    return false;
  };
  host.https_first = host.server.scheme == "http" && tls && tries_it();
  if (host.https_first && !has_port) host.https_port = 443;
}

// Only names of this machine differ from plain https: releases of containerd use http there, by the port or
// always.
Host DefaultHost(std::string_view registry, const RuntimeRules& rules) {
  Host host{.server = Server("https", registry)};
  if (!IsLocalhost(host.server.host)) return host;
  switch (rules.localhost) {
    case LocalhostServer::kHttps:
      break;
    case LocalhostServer::kHttp:
      host.server = Server("http", registry);
      host.skip_verify = true;
      break;
    case LocalhostServer::kByPort:
      if (HasPort(registry) && host.server.port != 443) host.server = Server("http", registry);
      host.skip_verify = host.server.port != 80;
      break;
  }
  PreferHttps(host, HasPort(registry), host.skip_verify, rules);
  return host;
}

Host CriTablesHost(std::string_view registry) {
  Host host{.server = Server("https", registry)};
  if (IsLocalhost(host.server.host)) host.server = Server("http", registry);
  return host;
}

Host CrioHost(std::string_view registry, bool insecure) {
  Host host{.server = Server("https", registry)};
  if (!insecure) return host;
  // CRI-O asks an insecure place by https first, and after any failure by plain http (R47).
  host.https_port = host.server.port;
  host.server = Server("http", registry);
  host.https_first = true;
  host.http_fallback = true;
  host.skip_verify = true;
  return host;
}

// The scheme is not compared: a registry that hosts.toml reaches by http is still itself.
bool IsOwnServer(const http::AbsoluteUrl& server, std::string_view registry) {
  http::AbsoluteUrl meant = Server(server.scheme, registry);
  return meant.host == server.host && meant.port == server.port;
}

namespace {

// `ns` tells a mirror of several registries which one is meant (R9).
http::AbsoluteUrl On(const Host& host, const image::Reference& reference, const std::string& path) {
  http::AbsoluteUrl url = host.server;
  url.target += path;
  if (!IsOwnServer(host.server, reference.domain())) {
    url.target += "?ns=" + base::PercentEncode(reference.domain());
  }
  return url;
}

}  // namespace

http::AbsoluteUrl ManifestUrl(const Host& host, const image::Reference& reference) {
  // With both, the digest counts, since the runtimes drop the tag (R2).
  const std::string& which = reference.has_digest() ? reference.digest() : reference.tag();
  return On(host, reference, "/" + reference.path() + "/manifests/" + which);
}

http::AbsoluteUrl BlobUrl(const Host& host, const image::Reference& reference) {
  return On(host, reference, "/" + reference.path() + "/blobs/" + reference.digest());
}

http::AbsoluteUrl ApiRootUrl(const Host& host, const image::Reference& reference) {
  return On(host, reference, "/");
}

namespace {

using Version = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;

struct Release {
  Version since;  // until the next row
  RuntimeRules rules;
};

constexpr RuntimeRules Rules1(LocalhostServer localhost, TlsBeforeHttp tls, bool table_required) {
  return {.toml = TomlDialect::kGoToml1,
          .localhost = localhost,
          .tls_before_http = tls,
          .hosts_table_required = table_required,
          .dial_timeout = false,
          .dial_timeout_means_tls = false,
          .referrers = false,
          .transfer_service = false,
          .default_config_path = false};
}

constexpr RuntimeRules Rules2(bool dial_timeout, bool transfer_service, bool newest) {
  RuntimeRules rules;
  rules.dial_timeout = dial_timeout;
  rules.dial_timeout_means_tls = dial_timeout && !transfer_service;
  rules.referrers = newest;
  rules.transfer_service = transfer_service;
  rules.default_config_path = newest;
  return rules;
}

// The rows come from the sources of each release (hosts.go of remotes/docker/config).
constexpr std::array kReleases = {
    Release{{1, 6, 0}, Rules1(LocalhostServer::kHttps, TlsBeforeHttp::kNever, true)},
    Release{{1, 6, 9}, Rules1(LocalhostServer::kHttp, TlsBeforeHttp::kNever, true)},
    Release{{1, 6, 25}, Rules1(LocalhostServer::kByPort, TlsBeforeHttp::kUnlessPort80OrNone, true)},
    Release{{1, 7, 0}, Rules1(LocalhostServer::kHttp, TlsBeforeHttp::kNever, true)},
    Release{{1, 7, 7}, Rules1(LocalhostServer::kHttp, TlsBeforeHttp::kAlways, true)},
    Release{{1, 7, 8}, Rules1(LocalhostServer::kByPort, TlsBeforeHttp::kUnlessPort80OrNone, true)},
    Release{{1, 7, 24}, Rules1(LocalhostServer::kByPort, TlsBeforeHttp::kUnlessPort80, true)},
    Release{{1, 7, 32}, Rules1(LocalhostServer::kByPort, TlsBeforeHttp::kUnlessPort80, false)},
    Release{{2, 0, 0}, Rules2(false, false, false)},
    Release{{2, 0, 7}, Rules2(true, false, false)},
    Release{{2, 1, 0}, Rules2(true, true, false)},
    Release{{2, 2, 0}, Rules2(true, true, true)},
};

std::optional<Version> ParseVersion(std::string_view text) {
  const std::vector<std::uint64_t> numbers = base::LeadingNumbers(text, 3);
  if (numbers.size() < 2) return std::nullopt;
  // A version without a patch level counts as the newest of its minor version.
  return Version{numbers[0], numbers[1],
                 numbers.size() > 2 ? numbers[2] : std::numeric_limits<std::uint64_t>::max()};
}

}  // namespace

// The last row that is not newer than the version counts. So the rows must be in the order of the releases.
RuntimeRules RuntimeRulesFor(std::string_view containerd_version) {
  const auto version = ParseVersion(containerd_version);
  // An unknown version gets the rules of the newest release.
  if (!version) return {};
  RuntimeRules rules = kReleases.front().rules;
  for (const Release& release : kReleases) {
    if (release.since <= *version) rules = release.rules;
  }
  return rules;
}

}  // namespace prefetch::registry
