// The options and examples of `prefetchctl wait`.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "commands/command.h"
#include "ctl/manifest_files.h"
#include "ctl/wait.h"
#include "image/reference.h"

namespace prefetch::ctl {
namespace {

struct WaitFlags {
  std::vector<std::string> lists;
  std::string hash, policy, timeout = "10m", min_ready = "100%";
  bool fail_fast = false;
  FleetFlags fleet;
};

WaitOptions ReadFlags(const WaitFlags& flags, Mistakes& mistakes) {
  WaitOptions options{.query = flags.fleet.query,
                      .demand = {.hash = flags.hash},
                      .fail_fast = flags.fail_fast,
                      .timeout = ParseTimeout(flags.timeout, mistakes)};
  if (!flags.policy.empty()) options.demand.policy = base::EnumNamed<image::PullPolicy>(flags.policy);
  if (flags.lists.empty()) return options;
  options.demand.list = ReadListFiles(flags.lists, mistakes).list;
  return options;
}

int RunWait(Context& context, const WaitFlags& flags) {
  Mistakes mistakes;
  WaitOptions options = ReadFlags(flags, mistakes);
  if (!mistakes.empty()) return RejectInput(mistakes, std::cerr);
  // A list without entries is met immediately. The warning tells a user who meant another file.
  if (const auto& list = options.demand.list) {
    for (const std::string& warning : list->warnings) std::cerr << "warning: " << warning << "\n";
  }
  if (!flags.fleet.fleet) {
    if (context.NamedAgent().empty()) options.folder = kDefaultAgentFolder;
    auto agent = context.Client();
    if (!agent) return Fail(agent.error(), std::cerr);
    return Wait(context.call, *agent, options, std::cout, std::cerr);
  }
  auto target = screen::ParseFleetTarget(flags.min_ready);
  if (!target) {
    return Fail(kBadInput,
                base::InvalidArgument("--min-ready must be a number of nodes from 1 on, or 1% to "
                                      "100%, not " +
                                      flags.min_ready),
                std::cerr);
  }
  options.target = *target;
  return WithCluster(flags.fleet.cluster, std::cerr, [&](kube::Api& api) {
    return FleetWait(context.call, api, options, std::cout, std::cerr);
  });
}

}  // namespace

Command WaitCommand(CLI::App& command, Context& context) {
  auto flags = std::make_shared<WaitFlags>();
  AgentOption(command, context);
  MultiValueOption(command, "--list", flags->lists,
                   "Wait until each entry of these lists is in force with at least its demands, and ready "
                   "(repeatable)");
  command.add_option("--hash", flags->hash, "Wait until the list with this hash is in force, and ready")
      ->excludes("--list");
  command.add_option("--policy", flags->policy, "Wait for readiness for pods with this imagePullPolicy")
      ->check(CLI::IsMember({"Never", "IfNotPresent", "Always"}));
  command.add_option("--timeout", flags->timeout, "Maximum time: 90s, 10m, 1h")->capture_default_str();
  command.add_flag("--fail-fast", flags->fail_fast,
                   "End at the first image that keeps failing (with --fleet: once --min-ready cannot be "
                   "reached)");
  FleetOptions(command, flags->fleet);
  UnreadyOption(command, flags->fleet);
  command
      .add_option("--min-ready", flags->min_ready, "Required number of ready nodes, or a share such as 95%")
      ->capture_default_str()
      ->needs("--fleet")
      ->group(kFleetGroup);
  command.footer(R"(
Without --fail-fast, the command also waits for images that keep failing: a missing tag may be pushed.
An image outside its pullWindow has not failed, also with --fail-fast. If the time ends first, the last words
name the time until the window opens.
Without --agent, it ends at once on a machine that has never had an agent (no /run/prefetchd).

With --fleet, the command asks ready nodes again every 30 s, and the others every 2 s. It waits for nodes without
an agent, and for agents that cannot be reached. If you ask for a list, hash or policy, the readiness of such an
agent's pod does not count: the pod may have another list. A fleet without nodes is never ready.

It does not wait for nodes that are dead (kubelet does not report, out of service). Nor does it wait for nodes that
leave: cordoned, being deleted, or tainted by Karpenter or the Cluster Autoscaler. It names both at the end.
--include-unready waits for them, too.

Exit code:
  0  ready
  1  an image keeps failing (with --fail-fast)
  2  bad usage, or an invalid list
  3  timed out
  4  the agent or the cluster could not be asked

Examples:
  prefetchctl wait --timeout 10m
  prefetchctl wait --list images.yaml    even if the agent has not seen the new list yet
  prefetchctl wait --list images.yaml --fail-fast
  prefetchctl wait --fleet --list images.yaml --timeout 30m
  prefetchctl wait --fleet --nodes pool=ci --min-ready 95%)");
  return [&context, flags] { return RunWait(context, *flags); };
}

}  // namespace prefetch::ctl
