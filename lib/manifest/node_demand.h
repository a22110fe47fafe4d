// Which nodes a pod's own fields let it run on. Internal to manifest/. Pure.
#pragma once

#include "doc/node.h"
#include "manifest/image_use.h"

namespace prefetch::manifest {

// Of a pod's spec: what nodeSelector, the required node affinity and spec.os say about kubernetes.io/os and
// kubernetes.io/arch (https://kubernetes.io/docs/reference/labels-annotations-taints/). What is
// no such field by its type says nothing.
NodeDemand ReadNodeDemand(const doc::Node& spec);

}  // namespace prefetch::manifest
