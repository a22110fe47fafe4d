#include "registry/host.h"

#include "http/url.h"
#include "registry/default_host.h"

namespace prefetch::registry {
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
