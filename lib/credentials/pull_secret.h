// PullSecret: a registry secret that is mounted into the agent, and its permitted uses:
// deploy/docs/security.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "credentials/key_index.h"
#include "credentials/match.h"

namespace prefetch::credentials {

// Every pod of the node may use an image that was pulled with it. It therefore serves only repositories that
// match one of `allow_repositories` (the rule of credentials/match.h), and only for entries of one of
// `list_sources`. If either is empty, it serves nothing.
struct PullSecret {
  std::string name;
  std::string path;  // the mounted folder (with .dockerconfigjson or .dockercfg), or one such file
  std::vector<std::string> allow_repositories;
  std::vector<std::string> list_sources;
};

// A declared secret with the credentials that were read from it.
struct LoadedPullSecret {
  PullSecret declared;
  std::vector<Pattern> allowed;
  KeyIndex index;
  std::vector<std::string> problems;  // with one, the index is empty

  bool Serves(const Target& target, const std::vector<std::string>& list_sources) const;
};

// The files that may have its data, in order. The first that exists counts.
std::vector<std::string> PullSecretFiles(const PullSecret& secret);
LoadedPullSecret LoadPullSecret(const PullSecret& secret);

}  // namespace prefetch::credentials
