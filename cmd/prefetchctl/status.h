// prefetchctl status: this node's images on one screen.
#pragma once

#include <string>

#include "agent_client.h"
#include "report/pull_results.h"

namespace prefetch::ctl {

struct StatusOptions {
  std::string output = "table";  // table, wide, json, yaml
  bool watch = false;
};

// A row for each image.
int Results(const base::Call& call, const AgentClient& agent, report::ResultsFormat format);

// Until `call.stop` with --watch; else once.
int Status(const base::Call& call, const AgentClient& agent, const StatusOptions& options);

}  // namespace prefetch::ctl
