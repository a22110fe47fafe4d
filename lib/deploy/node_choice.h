// NodeChoice: the nodes that a DaemonSet is for, as options of a command. Internal to deploy/. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "deploy/generate.h"
#include "doc/node.h"

namespace prefetch::deploy {

// Returns InvalidArgument with the first choice that Kubernetes would reject, or that no node can satisfy.
base::Status CheckNodeChoice(const NodeChoice& choice);

// Adds to the selector, and replaces the existing tolerations. Call it after CheckNodeChoice().
void ChooseNodes(const NodeChoice& choice, doc::Node& pod_spec);

// Returns a sentence for each choice that leaves no node, because the affinity of `pod_spec` excludes it.
std::vector<std::string> NotesOnNodes(const NodeChoice& choice, const doc::Node& pod_spec);

}  // namespace prefetch::deploy
