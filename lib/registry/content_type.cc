#include "registry/content_type.h"

#include <string>

#include "base/text.h"

namespace prefetch::registry {

ManifestKind ManifestKindOf(std::string_view content_type) {
  std::string type = base::ToLower(base::TrimSpace(content_type.substr(0, content_type.find(';'))));
  if (type == "application/vnd.docker.distribution.manifest.list.v2+json" ||
      type == "application/vnd.oci.image.index.v1+json") {
    return ManifestKind::kIndex;
  }
  if (type == "application/vnd.docker.distribution.manifest.v2+json" ||
      type == "application/vnd.oci.image.manifest.v1+json") {
    return ManifestKind::kManifest;
  }
  if (type == "application/vnd.docker.distribution.manifest.v1+json" ||
      type == "application/vnd.docker.distribution.manifest.v1+prettyjws" || type == "text/plain") {
    return ManifestKind::kSchema1;
  }
  return type == "text/html" || type == "application/xhtml+xml" ? ManifestKind::kHtml
                                                                : ManifestKind::kUnknown;
}

}  // namespace prefetch::registry
