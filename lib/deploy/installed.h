// Compares manifests with the agent's DaemonSet that a cluster runs. Pure.
#pragma once

#include <string>
#include <vector>

#include "doc/node.h"

namespace prefetch::deploy {

// Returns the image of the agent's container; empty if the object has none.
std::string ImageOfAgent(const doc::Node& daemon_set);

// Returns the settings that the installed DaemonSet has and the one of `documents` lacks: arguments,
// variables, ConfigMaps, Secrets and the choice of nodes, each in words for the user. Applying `documents`
// would remove them. A container's image does not count, nor do ConfigMaps that differ in their hash alone,
// since new content is what users change; but with `same_config`, the agent's own configuration counts:
// nobody has given a new one.
std::vector<std::string> RemovedSettings(const doc::Node& installed, const std::vector<doc::Node>& documents,
                                         bool same_config);

}  // namespace prefetch::deploy
