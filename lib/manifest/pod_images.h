// The images of one pod template. Internal to manifest/. Pure.
#pragma once

#include <optional>
#include <vector>

#include "doc/node.h"
#include "manifest/effective_policy.h"
#include "manifest/image_use.h"
#include "manifest/pod_template.h"

namespace prefetch::manifest {

// Appends what the pod of `found` asks for; mistakes in the fields that are looked at go to its Problems, all
// others are not looked at. `object` says whose pod it is; what it pulls with is read here. The pod's spec;
// nullptr if it has none, which is a mistake. nullopt: there is no pod here (only where a custom path led).
std::optional<const doc::Node*> ReadPodImages(const FoundTemplate& found, Pod object,
                                              const PolicyRules& rules, std::vector<ImageUse>& uses);

// Of a pod's spec: what nodeSelector, the required node affinity and spec.os say about kubernetes.io/os and
// kubernetes.io/arch (https://kubernetes.io/docs/reference/labels-annotations-taints/). What is
// no such field by its type says nothing.
NodeDemand ReadNodeDemand(const doc::Node& spec);

}  // namespace prefetch::manifest
