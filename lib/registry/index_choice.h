// Chooses the manifest of an index that containerd 2.1 on this node would take (R11). Pure; the text is
// untrusted input.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "doc/problems.h"
#include "image/platform.h"

namespace prefetch::registry {

// For manifests and indexes: containerd pulls none that is larger (R7; its own arithmetic of 4 MiB). Their
// values take at most 21 MiB.
constexpr doc::Limits kManifestLimits{.bytes = 4 * 1048 * 1048, .depth = 32, .nodes = 1 << 17};

// Returns the digest of the best entry of the node's architecture: the highest variant up to the node's, then
// the first entry. Entries without a platform come last. Those for another architecture that the node merely
// runs (386 on amd64) are ignored: containerd from 2.1 on neither fetches nor unpacks them. Attestations
// (os "unknown") are no images. NotFound: nothing for this platform. InvalidArgument: no index.
base::Result<std::string> ChooseManifest(std::string_view index, const image::Platform& node);

}  // namespace prefetch::registry
