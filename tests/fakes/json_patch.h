// The API server's two ways to patch an object.
#pragma once

#include <string>

#include "doc/node.h"

namespace prefetch::tests {

// kMerge: RFC 7386; a list is replaced as a whole. kStrategic: the same, but a Node's and a Pod's
// status.conditions are merged by `type`, and one with "$patch": "delete" goes. Other lists that have a merge
// key in Kubernetes are not known here; spec.taints has none that counts (it is replaced).
enum class PatchKind { kMerge, kStrategic };

void Patch(PatchKind kind, const doc::Node& patch, doc::Node& object);

}  // namespace prefetch::tests
