// Build: renders kustomizations of the tree as kustomize renders them; tests/deploy holds every platform and
// every set of components against kustomize itself. Pure.
#pragma once

#include "base/result.h"
#include "deploy/kustomization.h"
#include "deploy/objects.h"

namespace prefetch::deploy {

// Returns all objects of `top`, which lies at the tree's root. Names are not final before FinishNames().
// Returns InvalidArgument if a file is missing or has unknown fields; that is a mistake of the tree.
base::Result<Objects> Build(const Files& files, const Kustomization& top);

}  // namespace prefetch::deploy
