// PullSecret: a registry secret that is mounted into the agent, and its permitted uses:
// deploy/docs/security.md.
#pragma once

#include <string>
#include <vector>

namespace prefetch::image {

// Every pod of the node may use an image that was pulled with it (kubelet's rule K28). It therefore serves
// only repositories that match one of `allow_repositories` (the rule of credentials/match.h), and only for
// entries of one of `sources`. If either is empty, it serves nothing.
struct PullSecret {
  std::string name;
  std::string path;  // the mounted folder (with .dockerconfigjson or .dockercfg), or one such file
  std::vector<std::string> allow_repositories;
  std::vector<std::string> sources;  // of the list, by name: "team.yaml"

  friend bool operator==(const PullSecret&, const PullSecret&) = default;
};

}  // namespace prefetch::image
