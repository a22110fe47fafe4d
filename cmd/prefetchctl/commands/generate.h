// Options of manifests that `prefetchctl migrate` and `prefetchctl generate` share.
#pragma once

#include <string>

#include "deploy/compat.h"
#include "deploy/generate.h"

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace prefetch::ctl {

struct MigrateFlags {
  deploy::CompatOptions compat;  // but for `common`
  std::string flavor = "vanilla", integration;

  bool IsUsed() const;
};

// Which nodes.
void NodeOptions(CLI::App& command, deploy::NodeChoice& nodes);
// Platform, components, image and its pull secrets, labels of monitors, version of kubelet, port, nodes.
void ManifestOptions(CLI::App& command, deploy::GenerateOptions& options);
// Returns InvalidArgument without --image: deploy/ names an image that exists in no registry.
base::Status CheckImageIsGiven(const CLI::App& command);
void ManifestOutput(CLI::App& command, std::string& output);
// NAME and what image-prefetcher's own deploy.sh takes.
void MigrateOptions(CLI::App& command, MigrateFlags& flags);

// Writes the manifests; gives the exit code.
int Migrate(const MigrateFlags& flags, const deploy::GenerateOptions& common, const std::string& output);

}  // namespace prefetch::ctl
