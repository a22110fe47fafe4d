// The field `readyAs` of an entry and of `defaults`: the pod that an entry is to be ready for. Internal to
// list/. Pure.
//
//   readyAs:
//     secrets: [{namespace: ci, name: registry}]
//     serviceAccount: {namespace: ci, name: runner, uid: 6f1c…}
#pragma once

#include <optional>

#include "doc/node.h"
#include "doc/reader.h"
#include "image/pod_coordinates.h"

namespace prefetch::list {

// nullopt: it is not written. `{}` is a pod without credentials, which is what no default means, too. It is
// one pod: what is in another namespace than the first is a mistake, and so is a secret that is named twice.
std::optional<image::PodCoordinates> ReadReadyAs(doc::ObjectReader& object);

// The same as a node, which is not for a pod without credentials.
doc::Node ReadyAsNode(const image::PodCoordinates& pod);

}  // namespace prefetch::list
