// Build: renders kustomizations of the tree as kustomize renders them; tests/deploy compares every platform
// and every set of components with kustomize itself.
// MergePatch and JsonPatch: the two kinds of patches that kustomizations have.
// Pure.
#pragma once

#include "base/result.h"
#include "deploy/kustomization.h"
#include "deploy/objects.h"
#include "doc/node.h"

namespace prefetch::deploy {

// Returns all objects of `top`, which lies at the tree's root. Names are not final before FinishNames().
// Returns InvalidArgument if a file is missing or has unknown fields; that is a mistake of the tree.
base::Result<Objects> Build(const Files& files, const Kustomization& top);

// Reads the documents of one file of the tree; its mistakes are the tree's.
base::Result<std::vector<doc::Node>> ReadDocuments(const Files& files, const std::string& path);
base::Result<Kustomization> ReadKustomization(const Files& files, const std::string& path);

// Applies a strategic merge patch, with the merge keys of a pod's lists: containers, initContainers, volumes
// and env by name, volumeMounts by mountPath, ports by containerPort. Other lists are replaced as a whole. An
// item with `$patch: delete` is removed, and so is a member whose value is null. Items of the patch come
// first, in its order, as with kustomize.
void MergePatch(const doc::Node& patch, doc::Node& object);

// Applies a patch of RFC 6902: a list of add, replace and remove. Returns InvalidArgument with the operation
// that failed; the object is then half changed.
base::Status JsonPatch(const doc::Node& operations, doc::Node& object);

}  // namespace prefetch::deploy
