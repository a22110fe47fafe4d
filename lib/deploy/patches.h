// The two kinds of patches that kustomizations have. Pure.
#pragma once

#include "base/result.h"
#include "doc/node.h"

namespace prefetch::deploy {

// A strategic merge patch, by the merge keys of a pod's lists: containers, initContainers, volumes and env by
// name, volumeMounts by mountPath, ports by containerPort; other lists are replaced as a whole. An item with
// `$patch: delete` goes, and so does a member whose value is null. Items of the patch come first, in its
// order, as kustomize has them.
void MergePatch(const doc::Node& patch, doc::Node& object);

// RFC 6902: a list of add, replace and remove. InvalidArgument with the operation that cannot be done; the
// object is then half changed.
base::Status JsonPatch(const doc::Node& operations, doc::Node& object);

}  // namespace prefetch::deploy
