// Docker's configuration files as kubelet reads them (A21 to A23): for nodes and for
// pull secrets.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "credentials/key_index.h"

namespace prefetch::credentials {

enum class DockerConfigShape {
  kAuths,  // config.json, .dockerconfigjson: {"auths": {…}}
  kBare,   // .dockercfg: the map itself
};

// All entries of a document. A mistake in one makes the whole document an error (InvalidArgument), which
// never quotes a value. Pure.
base::Result<std::vector<KeyedAuth>> DecodeDockerConfig(std::string_view text, DockerConfigShape shape);

// Returns user name and password of an "auth" field; nullopt if kubelet does not accept its base64, or if it
// has no colon. Pure.
std::optional<image::AuthConfig> DecodeAuthField(std::string_view text);

// By the file's name: ".dockercfg" is bare, everything else is not.
DockerConfigShape ShapeOf(std::string_view path);

// kubelet's default search paths, as this process sees them.
struct DockerConfigSearch {
  std::string kubelet_root = "/var/lib/kubelet";
  std::string working_directory = "/";  // kubelet's
  std::string home;                     // kubelet's; empty: unset, which means its working directory

  friend bool operator==(const DockerConfigSearch&, const DockerConfigSearch&) = default;
};
// Returns the paths in kubelet's order. The first file that exists and parses wins; nothing is merged.
std::vector<std::string> DockerConfigCandidates(const DockerConfigSearch& search);

// The file that won, if any.
struct NodeDockerConfig {
  std::string path;
  KeyIndex index;
  std::vector<std::string> problems;  // files that exist and could not be used
};
// Reads files. Never fails: without a usable file there is no credential.
NodeDockerConfig ReadFirstDockerConfig(const std::vector<std::string>& candidates);

}  // namespace prefetch::credentials
