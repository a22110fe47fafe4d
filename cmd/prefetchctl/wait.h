// prefetchctl wait: until every required entry is ready.
#pragma once

#include <chrono>

#include "agent_client.h"
#include "report/wait_demand.h"

namespace prefetch::ctl {

struct WaitOptions {
  report::WaitDemand demand;
  bool fail_fast = false;  // ends with the first image that has failed for good
  std::chrono::nanoseconds timeout{};
};

int Wait(const base::Call& call, const AgentClient& agent, const WaitOptions& options);

}  // namespace prefetch::ctl
