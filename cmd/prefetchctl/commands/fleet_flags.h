// The options that every command with --fleet has.
#pragma once

#include <functional>
#include <string>

#include "commands/command.h"
#include "ctl/cluster.h"
#include "ctl/fleet.h"

namespace prefetch::ctl {

struct FleetFlags {
  bool fleet = false;
  ClusterOptions cluster;
  FleetQuery query;
};

// Where --help shows what needs --fleet.
inline constexpr const char* kFleetGroup = "With --fleet";

// All but --fleet itself need --fleet.
void FleetOptions(CLI::App& command, FleetFlags& flags);

// --include-unready, of commands that count nodes.
void UnreadyOption(CLI::App& command, FleetFlags& flags);

// Opens the cluster for `use`.
int WithCluster(const FleetFlags& flags, const std::function<int(kube::Api&)>& use);

}  // namespace prefetch::ctl
