// prefetchctl status: this node's images on one screen.
#pragma once

#include <chrono>
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
  bool watch = false;
};

// A row for each image.
int PrintResults(const base::Call& call, const AgentClient& agent, screen::ResultsFormat format,
                 std::ostream& out, std::ostream& err);

// Until `call.stop` with --watch; else once.
int Status(const base::Call& call, const AgentClient& agent, const StatusOptions& options, std::ostream& out,
           std::ostream& err);

// prefetchctl status --fleet: all nodes' images on one screen.
struct FleetStatusOptions {
  FleetQuery query;
  std::string output = "table";  // table, wide, json, yaml, html
  bool not_ready = false;
  std::optional<screen::ResultsFormat> results;  // rows instead of a screen
  bool watch = false;                            // again and again, until `call.stop`; not with rows and html
  std::chrono::nanoseconds pause = std::chrono::seconds(2);  // between two rounds of a watch
  std::chrono::nanoseconds timeout = std::chrono::minutes(2);
};

// Prints what `options` select. Returns the exit code: kUnreachable if the API server does not answer; a node
// whose agent does not answer is part of the output.
int FleetStatus(const base::Call& call, kube::Api& api, const FleetStatusOptions& options, std::ostream& out,
                std::ostream& err);

}  // namespace prefetch::ctl
