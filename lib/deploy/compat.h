// GenerateCompat: the agent in the place of an installation of stackrox/image-prefetcher: under its names,
// with its ConfigMap and its Secret. deploy/docs/lists.md is the page for people. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "deploy/generate.h"

namespace prefetch::deploy {

struct CompatOptions {
  // Of these no list, instance and gate: the list is the ConfigMap `name`, whose images.txt is read live.
  GenerateOptions common;
  std::string name;    // of the DaemonSet, of its label `app`, of the ConfigMap
  std::string secret;  // a kubernetes.io/dockerconfigjson in the same namespace; empty: none
  // The images for which the secret may be used, as in matchImages; empty: every registry with a domain and
  // no port.
  std::vector<std::string> secret_repositories;
  // image-prefetcher.stackrox.io/NAME=succeeded|failed on each Node, with the rights and the policy for it.
  bool result_label = false;
};

// InvalidArgument as Generate().
base::Result<Generated> GenerateCompat(const Files& files, const CompatOptions& options);

}  // namespace prefetch::deploy
