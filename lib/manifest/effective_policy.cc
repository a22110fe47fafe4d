#include "manifest/effective_policy.h"

namespace prefetch::manifest {

image::PullPolicy EffectivePolicy(std::optional<image::PullPolicy> explicit_policy,
                                  const std::optional<image::Reference>& reference, const PolicyRules& rules,
                                  Purpose purpose) {
  // In the order of the cluster: the admission plugin AlwaysPullImages replaces every policy, a controller
  // only fills in a missing one, and the API server's own default is last.
  if (rules.assume_always_pull) return image::PullPolicy::kAlways;
  if (explicit_policy) return *explicit_policy;
  if (purpose == Purpose::kCheck && rules.default_check_policy) return *rules.default_check_policy;
  if (rules.default_policy) return *rules.default_policy;
  // Without a valid reference there is no tag, and the pod never starts anyway.
  return reference ? image::DefaultPullPolicy(*reference) : image::PullPolicy::kIfNotPresent;
}

}  // namespace prefetch::manifest
