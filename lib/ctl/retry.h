// Retry: makes an agent retry images at once that wait for their next attempt.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/call.h"
#include "ctl/agent_client.h"
#include "ctl/fleet.h"
#include "kube/api.h"

namespace prefetch::ctl {

struct RetryOptions {
  std::vector<std::string> images;  // empty: all that wait
  bool json = false;
};

// Returns the exit code: kNegative if an image is not on the list of the node.
int Retry(const base::Call& call, const AgentClient& agent, const RetryOptions& options, std::ostream& out,
          std::ostream& err);

// Asks the agents of all nodes. Returns kNegative if an image is on the list of no node, or if an agent did
// not take the request.
int RetryFleet(const base::Call& call, kube::Api& api, const FleetQuery& query,
               const std::vector<std::string>& images, std::ostream& out, std::ostream& err);

}  // namespace prefetch::ctl
