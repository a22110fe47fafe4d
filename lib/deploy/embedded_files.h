// The tree deploy/ as it was when this was built: base, parts, components, overlays.
#pragma once

#include "deploy/kustomization.h"

namespace prefetch::deploy {

// Lives as long as the program. Any thread may call.
const Files& EmbeddedFiles();

}  // namespace prefetch::deploy
