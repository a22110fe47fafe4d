// PullPolicy: Kubernetes' imagePullPolicy.
#pragma once

#include <optional>
#include <string_view>

#include "image/reference.h"

namespace prefetch::image {

// In order of strength: a pod with a later one asks for more.
enum class PullPolicy { kNever, kIfNotPresent, kAlways };

std::string_view PullPolicyName(PullPolicy policy);                      // "IfNotPresent"
std::optional<PullPolicy> ParsePullPolicy(std::string_view exact_name);  // case matters, as in Kubernetes

// The policy that a container gets which names none (kubelet's rule K2): kAlways if its tag is exactly
// "latest", written or implied, even beside a digest; kIfNotPresent otherwise.
PullPolicy DefaultPullPolicy(const Reference& reference);

}  // namespace prefetch::image
