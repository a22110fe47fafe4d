// Which manifest of an index a runtime on this node would take (R11). Pure; the text is a
// stranger's.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "image/platform.h"

namespace prefetch::registry {

// Entries for another architecture that the node merely runs (386 on amd64).
enum class ForeignPlatforms {
  kTake,   // as containerd up to 2.0 and CRI-O
  kLeave,  // as containerd's transfer service: from 2.1 on, it neither fetches nor unpacks them
};

// The digest of the best entry: the same architecture before one that the node merely runs, then the highest
// variant up to the node's, then the first; entries that name no platform come last. Attestations (os
// "unknown") are no images. NotFound: nothing for this platform. InvalidArgument: no index.
base::Result<std::string> ChooseManifest(std::string_view index, const image::Platform& node,
                                         ForeignPlatforms foreign = ForeignPlatforms::kTake);

}  // namespace prefetch::registry
