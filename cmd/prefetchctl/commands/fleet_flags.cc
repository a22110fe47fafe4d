#include "commands/fleet_flags.h"

#include <CLI/CLI.hpp>
#include <iostream>

namespace prefetch::ctl {

void FleetOptions(CLI::App& command, FleetFlags& flags) {
  CLI::Option* fleet =
      command.add_flag("--fleet", flags.fleet, "Ask the agents of all nodes, through the API server");
  auto add = [&](const char* name, std::string& value, const char* help) {
    return command.add_option(name, value, help)->needs(fleet)->group(kFleetGroup);
  };
  add("--nodes", flags.query.nodes, "Only nodes with these labels")->capture_default_str();
  add("-n,--namespace", flags.query.name_space, "Namespace of the agents")->capture_default_str();
  add("--selector", flags.query.pods, "Label selector of the agents' pods")->capture_default_str();
  add("--instance", flags.query.instance, "Instance of the agents, which names the label on nodes")
      ->capture_default_str();
  for (CLI::Option* option : ClusterFlags(command, flags.cluster)) option->needs(fleet)->group(kFleetGroup);
  // --fleet asks all agents, so naming one contradicts it.
  if (CLI::Option* agent = command.get_option_no_throw("--agent")) fleet->excludes(agent);
}

void UnreadyOption(CLI::App& command, FleetFlags& flags) {
  command
      .add_flag("--include-unready", flags.query.include_unready,
                "Count nodes that are dead or leaving like all others")
      ->needs("--fleet")
      ->group(kFleetGroup);
}

int WithCluster(const FleetFlags& flags, const std::function<int(kube::Api&)>& use) {
  auto cluster = Cluster::Open(flags.cluster);
  if (!cluster) return Fail(cluster.error(), std::cerr);
  return use((*cluster)->api());
}

}  // namespace prefetch::ctl
