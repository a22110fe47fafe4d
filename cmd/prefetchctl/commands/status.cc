// The options and examples of `prefetchctl status`.
#include <CLI/CLI.hpp>
#include <memory>

#include "commands/command.h"
#include "commands/fleet_flags.h"
#include "ctl/status.h"

namespace prefetch::ctl {
namespace {

struct StatusFlags {
  StatusOptions node;
  FleetFlags fleet;
  std::string results;
  bool not_ready = false;
};

int RunStatus(Context& context, const StatusFlags& flags) {
  std::optional<screen::ResultsFormat> results;
  if (!flags.results.empty())
    results = flags.results == "csv" ? screen::ResultsFormat::kCsv : screen::ResultsFormat::kJson;
  if (flags.fleet.fleet) {
    FleetStatusOptions options{.query = flags.fleet.query,
                               .output = flags.node.output,
                               .not_ready = flags.not_ready,
                               .results = results};
    return WithCluster(flags.fleet, [&](kube::Api& api) { return FleetStatus(context.call, api, options); });
  }
  return context.WithAgent([&](const AgentClient& agent) {
    return results ? Results(context.call, agent, *results) : Status(context.call, agent, flags.node);
  });
}

}  // namespace

Command StatusCommand(CLI::App& command, Context& context) {
  auto flags = std::make_shared<StatusFlags>();
  AgentOption(command, context);
  CLI::Option* output = command.add_option("-o,--output", flags->node.output, "table, wide, json or yaml")
                            ->check(CLI::IsMember({"table", "wide", "json", "yaml"}))
                            ->capture_default_str();
  CLI::Option* watch = command.add_flag("-w,--watch", flags->node.watch,
                                        "Show it again whenever it changes, until interrupted");
  FleetOptions(command, flags->fleet);
  CLI::Option* fleet = command.get_option("--fleet")->excludes(watch);
  CLI::Option* not_ready =
      command.add_flag("--not-ready", flags->not_ready, "Also name the nodes that are not ready")
          ->needs(fleet)
          ->group(kFleetGroup);
  command
      .add_option("--results", flags->results,
                  "Instead of a screen a row for each image and node, with sizes, attempts and durations: "
                  "csv, or json (an object a line)")
      ->check(CLI::IsMember({"json", "csv"}))
      ->excludes(output)
      ->excludes(watch)
      ->excludes(not_ready);
  command.footer(R"(
Exit code: 0 shown, 2 bad usage, 4 the agent or the cluster could not be asked.

With --fleet every agent is asked through the API server (get pods/proxy), 16 at a time. A node whose agent
cannot be reached is shown by its pod's readiness and its label, with no detail, and never as failed.

Examples:
  prefetchctl status                 what is ready, and what is in the way
  prefetchctl status -o wide         every image, whole names and ids
  prefetchctl status -o json | jq '.images[] | select(.ready | not)'
  prefetchctl status --fleet --not-ready
  prefetchctl status --fleet --nodes pool=ci,kubernetes.io/os=linux -o json | jq .causes
  prefetchctl status --fleet --results csv > pulls.csv)");
  return [&context, flags] { return RunStatus(context, *flags); };
}

}  // namespace prefetch::ctl
