#include "commands/fleet_flags.h"

#include <CLI/CLI.hpp>

namespace prefetch::ctl {

void FleetOptions(CLI::App& command, FleetFlags& flags) {
  CLI::Option* fleet =
      command.add_flag("--fleet", flags.fleet, "All nodes of the cluster, by its API server");
  auto add = [&](const char* name, std::string& value, const char* help) {
    return command.add_option(name, value, help)->needs(fleet)->group(kFleetGroup);
  };
  add("--nodes", flags.query.nodes, "Only nodes with these labels")->capture_default_str();
  add("-n,--namespace", flags.query.name_space, "Where the agents are")->capture_default_str();
  add("--selector", flags.query.pods, "Labels of the agents' pods")->capture_default_str();
  add("--instance", flags.query.instance, "The agents' --instance: names the nodes' label")
      ->capture_default_str();
  add("--kubeconfig", flags.cluster.kubeconfig,
      "This file; else KUBECONFIG, ~/.kube/config, or the account of the pod that this runs in");
  add("--context", flags.cluster.context, "This context of it; else the current one");
  if (CLI::Option* agent = command.get_option_no_throw("--agent")) fleet->excludes(agent);
}

int WithCluster(const FleetFlags& flags, const std::function<int(kube::Api&)>& use) {
  auto cluster = Cluster::Open(flags.cluster);
  if (!cluster) return Fail(cluster.error());
  return use((*cluster)->api());
}

}  // namespace prefetch::ctl
