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
  screen::WaitDemand demand;
  bool fail_fast = false;  // ends with the first image that is settled and not ready
  std::chrono::nanoseconds timeout{};
  // Folder of the socket, which the first agent of a node creates. If it is missing, Wait fails at once with
  // kUnreachable. Empty: Wait waits for an agent in any case.
  std::string folder;
};

// Polls the agent until it has all that `options` demand. Shows the progress on `out`, and problems with the
// agent on `err`. Returns the exit code: kOk; kNegative with `fail_fast`; kTimedOut; kUnreachable if the last
// poll failed or none had an answer; kInterrupted.
int Wait(const base::Call& call, const AgentClient& agent, const WaitOptions& options, std::ostream& out,
         std::ostream& err);

// prefetchctl wait --fleet: until enough nodes have everything that is asked for.
struct FleetWaitOptions {
  FleetQuery query;
  screen::WaitDemand demand;
  screen::FleetTarget target;
  bool fail_fast = false;
  std::chrono::nanoseconds timeout{};
  // Pause between two rounds; as long as a round if that takes longer.
  std::chrono::nanoseconds pause = std::chrono::seconds(2);
  std::chrono::nanoseconds list_every = std::chrono::seconds(5);  // nodes come and go
};

// Polls the agents of all selected nodes until enough nodes have all that `options` demand. Its output and
// exit codes are those of Wait; kUnreachable is about the API server.
int FleetWait(const base::Call& call, kube::Api& api, const FleetWaitOptions& options, std::ostream& out,
              std::ostream& err);

}  // namespace prefetch::ctl
