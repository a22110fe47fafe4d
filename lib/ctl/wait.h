// prefetchctl wait: until every required entry is ready.
#pragma once

#include <chrono>
#include <ostream>

#include "base/call.h"
#include "ctl/agent_client.h"
#include "ctl/fleet.h"
#include "screen/fleet.h"
#include "screen/wait_view.h"

namespace prefetch::ctl {

struct WaitOptions {
  FleetQuery query;  // of a fleet
  screen::WaitDemand demand;
  screen::FleetTarget target;  // of a fleet
  // Ends with the first image that is settled and not ready; of a fleet, once the target cannot be reached.
  bool fail_fast = false;
  std::chrono::nanoseconds timeout{};
  // Folder of the socket, which the first agent of a node creates. If it is missing, Wait fails at once with
  // kUnreachable. Empty: Wait waits for an agent in any case.
  std::string folder;
  // Pause between two rounds of a fleet; as long as a round if that takes longer.
  std::chrono::nanoseconds pause = std::chrono::seconds(2);
  std::chrono::nanoseconds list_every = std::chrono::seconds(5);  // nodes of a fleet come and go
};

// Polls the agent until it has all that `options` demand. Shows the progress on `out`, and problems with the
// agent on `err`. Returns the exit code: kOk; kNegative with `fail_fast`; kTimedOut; kUnreachable if the last
// poll failed or none had an answer; kInterrupted.
int Wait(const base::Call& call, const AgentClient& agent, const WaitOptions& options, std::ostream& out,
         std::ostream& err);

// prefetchctl wait --fleet: polls the agents of all selected nodes until enough nodes have all that `options`
// demand. Its output and exit codes are those of Wait; kUnreachable is about the API server.
int FleetWait(const base::Call& call, kube::Api& api, const WaitOptions& options, std::ostream& out,
              std::ostream& err);

}  // namespace prefetch::ctl
