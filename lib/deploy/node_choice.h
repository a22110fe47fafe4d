// NodeChoice: which nodes a DaemonSet is for, as options of a command say it. Internal to deploy/. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "deploy/generate.h"
#include "doc/node.h"

namespace prefetch::deploy {

// InvalidArgument names the first that Kubernetes would refuse, or that no node can satisfy.
base::Status CheckNodeChoice(const NodeChoice& choice);

// Adds to the selector; tolerations replace those that are there. CheckNodeChoice() has passed.
void ChooseNodes(const NodeChoice& choice, doc::Node& pod_spec);

// A sentence for each choice that leaves no node, since the affinity of `pod_spec` keeps pods off it.
std::vector<std::string> NotesOnNodes(const NodeChoice& choice, const doc::Node& pod_spec);

}  // namespace prefetch::deploy
