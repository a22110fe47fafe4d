// GenerateTouchDaemonSets: touches by pods that nobody has to create: the images of a list in DaemonSets
// whose containers never run (deploy/touch-daemonset, deploy/docs/touch.md). Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "deploy/generate.h"
#include "deploy/kustomization.h"

namespace prefetch::deploy {

// The namespace of touch pods, and a DaemonSet for every 20 images. `images` as pods will write them.
// InvalidArgument: there is none, or more than 2000; nodes that cannot be.
base::Result<Generated> GenerateTouchDaemonSets(const Files& files, const std::vector<std::string>& images,
                                                const NodeChoice& nodes = {});

}  // namespace prefetch::deploy
