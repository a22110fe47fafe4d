// The images by which components/policy judges, and the action of its binding. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "deploy/objects.h"
#include "doc/node.h"

namespace prefetch::deploy {

// The binding's validationActions: a request that uses an image of the list with Always.
enum class PolicyAction { kWarn, kAudit, kDeny };

// The API server looks through the whole list for each use with Always, and CEL's budget for one expression
// is a million: at this limit, an object may have 90 such containers (tests/admission).
constexpr std::size_t kMostPolicyImages = 10000;

// Returns the ConfigMap of components/policy with these images, one a line, in their order. Returns
// InvalidArgument if they are too many, or too large for a ConfigMap.
base::Result<doc::Node> PolicyConfigMap(const std::vector<std::string>& images);

// Puts images and action into the objects of the component. An `instance` that is not empty gets a label of
// its own, by which its binding selects its ConfigMap alone.
base::Status SetPolicy(const std::vector<std::string>& images, PolicyAction action,
                       const std::string& instance, Objects& objects);

}  // namespace prefetch::deploy
