// RegistryQuestion: a question to a registry about one reference, without pulling. A value: the agent
// makes it, lib/registry answers it with a RegistryAnswer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "image/auth_config.h"
#include "image/platform.h"
#include "image/reference.h"

namespace prefetch::image {

struct RegistryQuestion {
  Reference reference;
  // The digests that the runtime's repo_digests name for the reference's repository (registry rule R10).
  // Empty: none is known, and any digest is kMoved with local_digest_unknown.
  std::vector<std::string> local_digests;
  Platform platform;
  // In the order in which a pull would try them; the next one only where the one before was refused. Empty:
  // anonymous.
  std::vector<AuthConfig> credentials;
  // A pod wrote the registry's name, and no list has it: the answer must tell nothing about this node's own
  // network.
  bool untrusted_name = false;
  // Addresses of this node and of the API server, for untrusted_name. nullopt: they are not known yet, and a
  // registry that only the pod names is not asked.
  std::optional<std::vector<std::string>> not_these = std::vector<std::string>();
  // The manifest is fetched as well, as a pull by containerd would, where that costs nothing but a request
  // (R53). Otherwise the answer is what HEAD tells, and a pull may still find something else.
  bool fetches_manifest = false;
};

}  // namespace prefetch::image
