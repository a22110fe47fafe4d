// RuntimeRules: the differences between containerd's releases that decide which servers are asked (R31, R33,
// R34). Pure.
#pragma once

#include <string_view>

namespace prefetch::registry {

// How hosts.toml is decoded.
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

// A value; the default is the newest release.
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
RuntimeRules RulesOf(std::string_view containerd_version);

}  // namespace prefetch::registry
