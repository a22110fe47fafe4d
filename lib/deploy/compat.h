// GenerateCompat: installs the agent in place of stackrox/image-prefetcher, under its names and with its
// ConfigMap and Secret. deploy/docs/lists.md describes it for users. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "deploy/generate.h"

namespace prefetch::deploy {

struct CompatOptions {
  // `common` has no list, instance or gate: the list is the ConfigMap `name`, whose images.txt is read live.
  GenerateOptions common;
  std::string name;    // of the DaemonSet, of its label `app`, of the ConfigMap
  std::string secret;  // a kubernetes.io/dockerconfigjson in the same namespace; empty: none
  // Images for which the secret may be used, as in matchImages; empty: every registry with a domain and no
  // port.
  std::vector<std::string> secret_repositories;
  // Whether the agent sets image-prefetcher.stackrox.io/NAME=succeeded|failed on each Node, with the rights
  // and the policy for it.
  bool result_label = false;
};

// Returns InvalidArgument as Generate() does.
base::Result<Generated> GenerateCompat(const Files& files, const CompatOptions& options);

}  // namespace prefetch::deploy
