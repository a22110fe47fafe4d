// Host: one server that a runtime would ask for an image, with all that hosts.toml says of it
// (R31). A value.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/secret.h"
#include "http/absolute_url.h"
#include "image/reference.h"

namespace prefetch::registry {

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
  // Plain http is meant, but https is tried first (containerd 2.x for localhost, and for http with TLS keys).
  bool https_first = false;
  // With https_first, CRI-O's `insecure`: http follows whatever is wrong with https, and not only where that
  // is not spoken; and https has a port of its own where the name has none.
  bool http_after_all = false;
  std::uint16_t https_port = 0;       // 0: the server's
  std::vector<std::string> ca_files;  // PEM, beside the system's authorities
  std::vector<ClientPair> client_pairs;
  std::vector<std::pair<std::string, base::Secret>> headers;  // values may be secret
  std::optional<std::chrono::milliseconds> dial_timeout;
};

// May a request for that reference be answered here? A tag needs both capabilities.
inline bool Answers(const Host& host, bool by_digest) {
  return host.pull && (by_digest || host.resolve);
}

// The URL of a manifest on one host (R5, R9). Pure.
// By digest if the reference has one, else by tag; with `?ns=` where the host is not the registry's own,
// which is how mirrors learn whom they stand for.
http::AbsoluteUrl ManifestUrl(const Host& host, const image::Reference& reference);

// The URL of the blob with the reference's digest.
http::AbsoluteUrl BlobUrl(const Host& host, const image::Reference& reference);

// "https://host/v2/", which only registries have.
http::AbsoluteUrl ApiRootUrl(const Host& host, const image::Reference& reference);

}  // namespace prefetch::registry
