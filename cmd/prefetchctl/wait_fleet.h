// prefetchctl wait --fleet: until enough nodes have everything that is asked for.
#pragma once

#include <chrono>

#include "base/call.h"
#include "fleet_roster.h"
#include "report/fleet.h"
#include "report/wait_demand.h"

namespace prefetch::ctl {

struct FleetWaitOptions {
  FleetQuery query;
  report::WaitDemand demand;
  report::FleetTarget target;
  bool fail_fast = false;
  std::chrono::nanoseconds timeout{};
};

int FleetWait(const base::Call& call, kube::Api& api, const FleetWaitOptions& options);

}  // namespace prefetch::ctl
