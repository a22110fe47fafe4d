// prefetchctl status --fleet: all nodes' images on one screen.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/call.h"
#include "fleet_roster.h"
#include "report/pull_results.h"

namespace prefetch::ctl {

struct FleetStatusOptions {
  FleetQuery query;
  std::string output = "table";  // table, wide, json, yaml
  bool not_ready = false;
  std::optional<report::ResultsFormat> results;  // rows instead of a screen
  std::chrono::nanoseconds timeout = std::chrono::minutes(2);
};

int FleetStatus(const base::Call& call, kube::Api& api, const FleetStatusOptions& options);

}  // namespace prefetch::ctl
