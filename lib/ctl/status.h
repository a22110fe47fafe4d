// prefetchctl status: the images of this node, or of a fleet, on one screen.
#pragma once

#include <optional>
#include <ostream>
#include <string>

#include "base/call.h"
#include "ctl/agent_client.h"
#include "ctl/fleet.h"
#include "screen/status_table.h"

namespace prefetch::ctl {

struct StatusOptions {
  std::string output = "table";  // table, wide, json, yaml, html
  bool watch = false;            // again and again, until `call.stop`; not with results and html
  std::optional<screen::ResultsFormat> results;  // a row for each image, instead of a screen
  FleetQuery query;                              // of a fleet
  bool not_ready = false;                        // of a fleet: name the nodes that are not ready
};

// Prints what `options` select about this node. Returns the exit code: kUnreachable if the agent does not
// answer.
int Status(const base::Call& call, const AgentClient& agent, const StatusOptions& options, std::ostream& out,
           std::ostream& err);

// prefetchctl status --fleet: prints what `options` select about all nodes. Returns the exit code:
// kUnreachable if the API server does not answer; a node whose agent does not answer is part of the output.
int FleetStatus(const base::Call& call, kube::Api& api, const StatusOptions& options, std::ostream& out,
                std::ostream& err);

}  // namespace prefetch::ctl
