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
  if (!flags.nodes) {
    return Fail(kBadInput, base::InvalidArgument(
                               "--nodes is required: it clears Node objects; the agent itself goes with "
                               "kubectl delete of what installed it"));
  }
  auto cluster = Cluster::Open(flags.cluster);
  if (!cluster) return Fail(cluster.error());
  return Uninstall(call, (*cluster)->api(), flags.options, std::cout, std::cerr);
}

}  // namespace

Command UninstallCommand(CLI::App& command, Context& context) {
  auto flags = std::make_shared<UninstallFlags>();
  UninstallOptions& options = flags->options;
  command.add_flag("--nodes", flags->nodes, "Clear what agents have said on Node objects");
  command.add_option("--instance", options.instance,
                     "Only this instance's label; else all labels below prefetchd.dev/, the condition "
                     "ImagesPrefetched and the startup taint");
  Repeatable(command, "--label", options.labels, "Also this label, as nodeResultLabel had it (repeatable)");
  command.add_option("--selector", options.selector, "Only nodes with these labels: pool=ci");
  command.add_flag("--dry-run", options.dry_run, "Say what would be cleared, and change nothing");
  command.add_option(
      "--kubeconfig", flags->cluster.kubeconfig,
      "This file; else KUBECONFIG, ~/.kube/config, or the account of the pod that this runs in");
  command.add_option("--context", flags->cluster.context, "This context of it; else the current one");
  command.footer(R"(
Take the startup taint out of the node pools first, else new nodes come with it and nobody takes it away; then
delete the agent, else it says all of it again; then run this. Needs the rights to list, get and patch nodes
and to patch nodes/status.

Exit code: 0 nothing of ours is left, 1 some nodes are not cleared (run it again), 2 bad input, 4 the cluster
could not be asked.

Examples:
  prefetchctl uninstall --nodes --dry-run
  prefetchctl uninstall --nodes --context ci
  prefetchctl uninstall --nodes --label image-prefetcher.stackrox.io/my-images
  prefetchctl uninstall --nodes --instance team-a --selector pool=ci)");
  return [&context, flags] { return Run(context.call, *flags); };
}

}  // namespace prefetch::ctl
