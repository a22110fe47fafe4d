// Options that the commands which write manifests share.
#pragma once

#include <string>

#include "deploy/generate.h"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace prefetch::ctl {

// Which nodes.
void NodeOptions(CLI::App& command, deploy::NodeChoice& nodes);
// Platform, components, image and its pull secrets, labels of monitors, version of kubelet, port, nodes.
void ManifestOptions(CLI::App& command, deploy::GenerateOptions& options);
// Returns InvalidArgument without --image: deploy/ names an image that exists in no registry.
base::Status CheckImageIsGiven(const CLI::App& command);
void ManifestOutput(CLI::App& command, std::string& output);

}  // namespace prefetch::ctl
