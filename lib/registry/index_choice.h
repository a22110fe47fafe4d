// Which manifest of an index a runtime on this node would take (R11). Pure; the text is a
// stranger's.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "image/platform.h"

namespace prefetch::registry {

// The digest of the best entry: the same architecture before one that the node merely runs, then the highest
// variant up to the node's, then the first; entries that name no platform come last. Attestations (os
// "unknown") are no images. NotFound: nothing for this platform. InvalidArgument: no index.
base::Result<std::string> ChooseManifest(std::string_view index, const image::Platform& node);

}  // namespace prefetch::registry
