// Chooses the manifest of an index that a runtime on this node would take (R11). Pure; the text is untrusted
// input.
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

// Entries for another architecture that the node merely runs (386 on amd64).
enum class ForeignPlatforms {
  kAccept,  // as containerd up to 2.0 and CRI-O
  kIgnore,  // as containerd's transfer service: from 2.1 on, it neither fetches nor unpacks them
};

// Returns the digest of the best entry: the node's own architecture before one that it can also run, then the
// highest variant up to the node's, then the first entry. Entries without a platform come last. Attestations
// (os "unknown") are no images. NotFound: nothing for this platform. InvalidArgument: no index.
base::Result<std::string> ChooseManifest(std::string_view index, const image::Platform& node,
                                         ForeignPlatforms foreign = ForeignPlatforms::kAccept);

}  // namespace prefetch::registry
