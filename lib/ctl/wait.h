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
  // The socket's folder, which a node's first agent makes: without it, no agent is waited for. Empty: any
  // agent may come.
  std::string folder;
};

int Wait(const base::Call& call, const AgentClient& agent, const WaitOptions& options, std::ostream& out,
         std::ostream& err);

// prefetchctl wait --fleet: until enough nodes have everything that is asked for.
struct FleetWaitOptions {
  FleetQuery query;
  screen::WaitDemand demand;
  screen::FleetTarget target;
  bool fail_fast = false;
  std::chrono::nanoseconds timeout{};
  std::chrono::nanoseconds pause =
      std::chrono::seconds(2);  // between two rounds; longer where a round takes longer
  std::chrono::nanoseconds list_every = std::chrono::seconds(5);  // nodes come and go
};

int FleetWait(const base::Call& call, kube::Api& api, const FleetWaitOptions& options, std::ostream& out,
              std::ostream& err);

}  // namespace prefetch::ctl
