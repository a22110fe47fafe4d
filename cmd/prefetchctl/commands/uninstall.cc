// The options and examples of `prefetchctl uninstall`.
#include "ctl/uninstall.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "commands/command.h"
#include "ctl/cluster.h"

namespace prefetch::ctl {
namespace {

struct UninstallFlags {
  bool nodes = false;
  UninstallOptions options;
  ClusterOptions cluster;
};

int Run(const base::Call& call, const UninstallFlags& flags) {
  // The required flag says that the command clears Node objects, and does not remove the agent itself.
  if (!flags.nodes) {
    return RejectInput({"--nodes is required: the command clears Node objects only; delete the "
                        "agent with kubectl delete and its manifests"},
                       std::cerr);
  }
  return WithCluster(flags.cluster, std::cerr, [&](kube::Api& api) {
    return Uninstall(call, api, flags.options, std::cout, std::cerr);
  });
}

}  // namespace

Command UninstallCommand(CLI::App& command, Context& context) {
  auto flags = std::make_shared<UninstallFlags>();
  UninstallOptions& options = flags->options;
  command.add_flag("--nodes", flags->nodes, "Clear Node objects of what agents wrote there");
  RejectEmpty(
      command.add_option("--instance", options.instance,
                         "Clear only this instance's label; default: all labels below prefetchd.dev/, the "
                         "condition ImagesPrefetched and the startup taint"));
  RepeatableOption(command, "--label", options.labels,
                   "Also clear this label, the value of nodeResultLabel (repeatable)");
  command.add_option("--startup-taint-key", options.taint_key,
                     "Also remove this taint, the value of startupTaintKey");
  command.add_option("--selector", options.selector, "Only nodes with these labels: pool=ci");
  command.add_flag("--dry-run", options.dry_run, "Print the changes, and make none");
  ClusterFlags(command, flags->cluster);
  command.footer(R"(
Keep this order:
  1. Remove the startup taint from the node pools. Otherwise new nodes start with it, and keep it.
  2. If a list has pin: true, take the pins off. They are on the nodes, which this command does not reach:
     kubectl -n prefetchd set env daemonset/prefetchd PREFETCHD_UNPIN=true
     kubectl -n prefetchd rollout status daemonset/prefetchd
  3. Delete the agent. Otherwise it writes everything again.
  4. Run this command.

It needs the rights to list, get and patch nodes, and to patch nodes/status.

Exit code:
  0  all nodes are clear
  1  some nodes are not clear; run it again
  2  bad input
  4  the cluster could not be asked

Examples:
  prefetchctl uninstall --nodes --dry-run
  prefetchctl uninstall --nodes --context ci
  prefetchctl uninstall --nodes --label image-prefetcher.stackrox.io/my-images
  prefetchctl uninstall --nodes --instance team-a --selector pool=ci)");
  return [&context, flags] { return Run(context.call, *flags); };
}

}  // namespace prefetch::ctl
