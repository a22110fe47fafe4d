// Registries as they are asked from a desk or a node: with the credential configuration of this node, for the
// digests and manifests of many tags side by side, while a user waits.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/call.h"
#include "config/settings.h"
#include "credentials/keyring.h"
#include "image/kubelet_version.h"
#include "image/platform.h"
#include "image/reference.h"
#include "image/registry_answer.h"
#include "image/registry_question.h"

namespace prefetch::ctl {

// The credential configuration of this node, as prefetchd would take it from flags, environment and file.

// Flags, environment and file laid over each other; the flags alone, with the mistakes said, if those two
// have any.
config::RawConfig LoadCredentialConfig(const config::RawConfig& flags, const config::GetEnv& get_env,
                                       std::vector<std::string>& mistakes);
// The options of a Keyring; paths are absolute.
credentials::KeyringOptions ToKeyringOptions(const config::RawConfig& raw,
                                             std::vector<std::string>& mistakes);
image::KubeletVersion DeclaredKubeletVersion(const config::RawConfig& raw,
                                             std::vector<std::string>& mistakes);

struct TagQuery {
  image::Reference reference;
  std::vector<std::string> sources;  // the lists that have it: mounted pull secrets are for some of them only
  std::string known_digest{};        // the digest that it had before; empty: none
};

enum class NodeRuntime { kContainerd, kCrio };

// An answer for each, in their order, as `runtime` would judge it. For CRI-O, an image that containerd would
// not pull has a digest and a message, which says why: only a pull can tell whether CRI-O takes it. One
// registry gets at most eight questions at a time and 50 a second, ten times what an agent allows itself:
// this is one desk, not a fleet. A registry that sends Retry-After (429) is asked again once the time that it
// names has passed, as long as the call has that time; `err` is told.
std::vector<image::RegistryAnswer> ResolveTags(const base::Call& call,
                                               const credentials::KeyringOptions& keyring,
                                               const config::GetEnv& get_env,
                                               const std::vector<TagQuery>& questions, NodeRuntime runtime,
                                               std::ostream& err);

struct ManifestAnswer {
  std::optional<image::ImageManifest> manifest;
  std::string error;  // without one: why
};

// The manifests of many images for one platform, asked for in the same way.
std::vector<ManifestAnswer> FetchManifests(const base::Call& call, const credentials::KeyringOptions& keyring,
                                           const config::GetEnv& get_env,
                                           const std::vector<TagQuery>& questions,
                                           const image::Platform& platform, std::ostream& err);

}  // namespace prefetch::ctl
