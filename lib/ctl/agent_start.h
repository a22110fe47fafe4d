// Would the agents of these manifests start? The same validation as prefetchd's own, before anything is
// applied.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/agent_config.h"
#include "doc/node.h"

namespace prefetch::ctl {

// The configuration of the DaemonSet's agents: its flags and variables over agent.yaml, as prefetchd reads
// them. Files of the node are not read. InvalidArgument with all mistakes, a line each, in prefetchd's own
// words.
base::Result<config::AgentConfig> ConfigOfManifests(const std::vector<doc::Node>& documents);

}  // namespace prefetch::ctl
