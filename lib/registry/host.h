// RuntimeRules: the differences between containerd's releases that decide which servers are asked.
// Host: one server that a runtime would ask for an image, with its settings in hosts.toml (R31).
// HostChain: the servers that are asked for images of one registry, in order.
// DefaultHost and its kin: the server that a registry's name means without hosts.toml.
// Values and pure functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/secret.h"
#include "http/client.h"
#include "http/url.h"
#include "image/reference.h"

namespace prefetch::registry {

// The decoder that containerd uses for hosts.toml.
enum class TomlDialect {
  kGoToml1,  // keys as they are written, hosts by their place in the text
  kGoToml2,  // keys in any case, hosts by their own `[host."…"]` headers alone, UTF-8 alone
};

// The server of a registry on localhost if no hosts.toml names one.
enum class LocalhostServer {
  kHttps,   // as for any registry
  kHttp,    // plain http
  kByPort,  // https without a port or with 443, else plain http; any certificate unless the port is 80
};

// When a server of scheme http that has TLS settings is asked by https first.
enum class TlsBeforeHttp {
  kNever,
  kAlways,
  kUnlessPort80OrNone,
  kUnlessPort80,
};

// The differences between containerd's releases that decide which servers are asked (R31, R33, R34). The
// default is the newest release.
struct RuntimeRules {
  TomlDialect toml = TomlDialect::kGoToml2;
  LocalhostServer localhost = LocalhostServer::kByPort;
  TlsBeforeHttp tls_before_http = TlsBeforeHttp::kUnlessPort80;
  bool hosts_table_required = false;    // a hosts.toml without [host] is invalid
  bool dial_timeout = true;             // the key exists
  bool dial_timeout_means_tls = false;  // and counts as a TLS setting
  bool referrers = true;                // the capability exists
  bool transfer_service = true;         // CRI pulls by it unless something keeps them local (C29)
  bool default_config_path = true;
};

// "1.6.20", "v2.3.4", "1.7.24~ds1"; what cannot be read counts as the newest release, and so does a patch
// that is not told among those of its minor release.
RuntimeRules RuntimeRulesFor(std::string_view containerd_version);

struct ClientPair {
  std::string certificate_file;
  std::string key_file;  // empty: the key is in the certificate's file

  friend bool operator==(const ClientPair&, const ClientPair&) = default;
};

struct Host {
  http::AbsoluteUrl server;  // where requests go; its target is the API root without a "/" at its end: "/v2"
  bool pull = true;          // digests may be asked for here
  bool resolve = true;       // tags, too
  bool skip_verify = false;  // any certificate will do
  // Plain http is meant, but https is tried first (containerd, for localhost and for http with TLS keys).
  bool https_first = false;
  // With https_first, CRI-O's `insecure`: http follows whatever is wrong with https, and not only where that
  // is not spoken; and https has a port of its own where the name has none.
  bool http_fallback = false;
  std::uint16_t https_port = 0;       // 0: the server's
  std::vector<std::string> ca_files;  // PEM, beside the system's authorities
  std::vector<ClientPair> client_pairs;
  std::vector<std::pair<std::string, base::Secret>> headers;  // values may be secret
  std::optional<std::chrono::milliseconds> dial_timeout;
  // A setting with which the runtime keeps the host, and fails at each request to it; empty: there is none.
  std::string problem;
};

// May a request for that reference be answered here? A tag needs both capabilities.
inline bool CanServe(const Host& host, bool by_digest) {
  return host.pull && (by_digest || host.resolve);
}

// Returns the URL of a manifest on one host (R5, R9): by digest if the reference has one, else by tag. If the
// host is not the registry's own, `?ns=` tells the mirror for which registry it answers.
http::AbsoluteUrl ManifestUrl(const Host& host, const image::Reference& reference);

// The URL of the blob with the reference's digest.
http::AbsoluteUrl BlobUrl(const Host& host, const image::Reference& reference);

// "https://host/v2/", which only registries have.
http::AbsoluteUrl ApiRootUrl(const Host& host, const image::Reference& reference);

// A host with its place in the chain of a registry.
struct ChainedHost {
  Host host;
  bool own = false;     // the registry's own server: gets the credentials
  bool mirror = false;  // it is asked before the one that stands for the registry
  // The image's name there, where CRI-O's registries.conf gives it another one or has it stay. Such a place
  // gets the credentials if it is the registry's own server, and never else (R48).
  std::optional<image::Reference> as;
  std::string blocked_by;  // the prefix of the entry of registries.conf that forbids to ask; empty: none does
  // The TLS settings of hosts.toml, loaded; nullptr: as for any server. `tls` has its certificates, for
  // `host` alone; `redirect_tls` has only its authorities, for the targets of redirects.
  std::shared_ptr<const http::Tls> tls, redirect_tls;
  std::string problem;  // a file that hosts.toml names, or a certificate, cannot be read: it cannot be asked
};

// The servers that are asked for images of one registry, in order, and the source of that order. If no host
// has the tag, the answer of the last host is the answer of the chain.
struct HostChain {
  std::vector<ChainedHost> hosts;
  std::string source;               // the folder or entry of these settings; empty: the defaults hold
  std::string only_by_pull_reason;  // no server is asked: the reason, a sentence; empty: the hosts are
  std::vector<std::string> notes;   // mistakes that were found, a sentence each; no secrets
  // Some folder or file that may count is not to be seen: the runtime may ask other servers.
  bool is_guess = false;
};

// The functions below return the server that a registry's name means without hosts.toml (R4, R33, R47).

// `registry` is a reference's domain: "docker.io", "reg:5000", "localhost:5000", "[::1]:5000".
// The default host of containerd with a config_path, or with its transfer service.
Host DefaultHost(std::string_view registry, const RuntimeRules& rules);
// The default host of containerd's CRI plugin without a config_path: localhost by plain http.
Host CriTablesHost(std::string_view registry);
// Sets https_first of a host of scheme http, by that release. `tls`: it has settings of TLS.
void PreferHttps(Host& host, bool has_port, bool tls, const RuntimeRules& rules);
// Returns whether the name of a registry has a port: "reg:5000", "[::1]:5000".
bool HasPort(std::string_view registry);

// Returns a host as CRI-O asks it: by https, on localhost as well. `insecure`: any certificate will do, and
// plain http, too (R47).
Host CrioHost(std::string_view registry, bool insecure);

// Returns true if this is the registry's own server, and not a mirror.
bool IsOwnServer(const http::AbsoluteUrl& server, std::string_view registry);

// "localhost" or a loopback address, as containerd sees it.
bool IsLocalhost(std::string_view host);

}  // namespace prefetch::registry
