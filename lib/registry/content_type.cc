#include "registry/content_type.h"

#include <string>
#include <vector>

#include "base/text.h"

namespace prefetch::registry {

ManifestKind ManifestKindOf(std::string_view content_type, TypeReader reader) {
  const std::string_view written = content_type.substr(0, content_type.find(';'));
  const std::string lower = base::ToLower(base::TrimSpace(written));
  const std::string_view type = reader == TypeReader::kContainerd ? written : std::string_view(lower);
  if (lower == "text/html" || lower == "application/xhtml+xml") return ManifestKind::kHtml;
  if (type == "application/vnd.docker.distribution.manifest.list.v2+json" ||
      type == "application/vnd.oci.image.index.v1+json") {
    return ManifestKind::kIndex;
  }
  if (type == "application/vnd.docker.distribution.manifest.v2+json" ||
      type == "application/vnd.oci.image.manifest.v1+json") {
    return ManifestKind::kManifest;
  }
  const bool schema1 = lower == "application/vnd.docker.distribution.manifest.v1+json" ||
                       lower == "application/vnd.docker.distribution.manifest.v1+prettyjws" ||
                       lower == "text/plain";
  return schema1 ? ManifestKind::kSchema1 : ManifestKind::kUnknown;
}

bool IsPlainOrGzip(const http::Response& response) {
  const std::vector<std::string_view> encodings = response.headers.All("Content-Encoding");
  if (encodings.size() > 1) return false;
  const std::string_view encoding = encodings.empty() ? "" : encodings.front();
  return encoding.empty() || base::EqualsIgnoreCase(encoding, "gzip") ||
         base::EqualsIgnoreCase(encoding, "identity");
}

}  // namespace prefetch::registry
