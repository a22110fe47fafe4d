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

// Puts a member, in place of one of that name.
void Put(doc::Node& mapping, const std::string& key, doc::Node value);
void Remove(doc::Node& mapping, const std::string& key);
// The value under `key`, made an empty mapping if it is not there.
doc::Node& Sub(doc::Node& mapping, const std::string& key);

}  // namespace prefetch::tests
