// The pull policy that a container ends up with in a cluster, whatever its manifest says.
#pragma once

#include <optional>

#include "image/pull_policy.h"
#include "image/reference.h"

namespace prefetch::manifest {

// The rules of the cluster that a manifest goes to.
struct PolicyRules {
  // The admission plugin AlwaysPullImages is on: Always for everything.
  bool assume_always_pull = false;
  // The default of a controller that sets the policy before Kubernetes does.
  std::optional<image::PullPolicy> default_policy;
  // The same for containers that such a controller adds to check the images of others (IsCheckContainer);
  // if absent, they have the default of all.
  std::optional<image::PullPolicy> default_check_policy;

  friend bool operator==(const PolicyRules&, const PolicyRules&) = default;
};

// A container's purpose, where its controller makes a difference.
enum class Purpose { kWork, kCheck };

// As kubelet's rule K2 has it. `reference` is nullopt for an image text that is no reference: the API server
// then finds no tag in it, and defaults to IfNotPresent. Pure.
image::PullPolicy EffectivePolicy(std::optional<image::PullPolicy> explicit_policy,
                                  const std::optional<image::Reference>& reference, const PolicyRules& rules,
                                  Purpose purpose = Purpose::kWork);

}  // namespace prefetch::manifest
