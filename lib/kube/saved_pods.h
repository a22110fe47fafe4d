// Saved pods: `kubectl get pods -o json > pods.json`.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "doc/text_check.h"
#include "kube/objects.h"

namespace prefetch::kube {

// A List or PodList, or one Pod. Objects of other kinds in a List are passed over. Pure.
// InvalidArgument: it is no JSON, longer than doc::kMostSavedBytes, or holds no list of objects.
base::Result<std::vector<Pod>> ReadSavedPods(std::string_view json);

}  // namespace prefetch::kube
