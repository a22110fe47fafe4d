// Classifies a manifest by its Content-Type (R8). Pure.
#pragma once

#include <string_view>

#include "http/client.h"

namespace prefetch::registry {

enum class ManifestKind {
  kIndex,     // several platforms
  kManifest,  // one
  kSchema1,   // its digest leaves out signatures, and newer runtimes refuse it
  kUnknown,   // containerd pulls none. CRI-O looks into it, so its digest can be compared all the same
  kHtml,      // a login page, a captive portal: the server is no registry
};

// Parameters ("; charset=utf-8") do not matter. CRI-O ignores case and blanks, too; containerd does not.
enum class TypeReader { kContainerd, kCrio };
ManifestKind ManifestKindOf(std::string_view content_type, TypeReader reader);

// Returns whether the body came as it is or by gzip, which is all that Go's client decodes by itself.
bool IsPlainOrGzip(const http::Response& response);

// The Accept of every manifest request: exactly containerd's types and order (R5). Without all four a
// registry may answer with another representation, which has another digest.
inline constexpr std::string_view kAcceptedManifests =
    "application/vnd.docker.distribution.manifest.v2+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, */*";

}  // namespace prefetch::registry
