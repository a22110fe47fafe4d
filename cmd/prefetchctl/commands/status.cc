// The options and examples of `prefetchctl status`.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "commands/command.h"
#include "ctl/exit_code.h"
#include "ctl/status.h"

namespace prefetch::ctl {
namespace {

struct StatusFlags {
  StatusOptions options;
  FleetFlags fleet;
  std::string results;
};

int RunStatus(Context& context, const StatusFlags& flags) {
  StatusOptions options = flags.options;
  options.query = flags.fleet.query;
  if (!flags.results.empty())
    options.results = flags.results == "csv" ? screen::ResultsFormat::kCsv : screen::ResultsFormat::kJson;
  // CLI11 can exclude options, but not one of their values.
  if (options.watch && options.output == "html") {
    return RejectInput({"--watch cannot draw a page again and again: leave it out, or choose another output"},
                       std::cerr);
  }
  if (flags.fleet.fleet) {
    return WithCluster(flags.fleet.cluster, std::cerr, [&](kube::Api& api) {
      return FleetStatus(context.call, api, options, std::cout, std::cerr);
    });
  }
  auto agent = context.Client();
  if (!agent) return Fail(agent.error(), std::cerr);
  return Status(context.call, *agent, options, std::cout, std::cerr);
}

}  // namespace

Command StatusCommand(CLI::App& command, Context& context) {
  auto flags = std::make_shared<StatusFlags>();
  AgentOption(command, context);
  CLI::Option* output =
      command.add_option("-o,--output", flags->options.output, "table, wide, json, yaml or html")
          ->check(CLI::IsMember({"table", "wide", "json", "yaml", "html"}))
          ->capture_default_str();
  CLI::Option* watch = command.add_flag("-w,--watch", flags->options.watch,
                                        "Show the status again after each change, until interrupted");
  FleetOptions(command, flags->fleet);
  UnreadyOption(command, flags->fleet);
  CLI::Option* fleet = command.get_option("--fleet");
  CLI::Option* not_ready =
      command.add_flag("--not-ready", flags->options.not_ready, "Also name the nodes that are not ready")
          ->needs(fleet)
          ->group(kFleetGroup);
  command
      .add_option("--results", flags->results,
                  "Print a row for each image and node, with sizes, attempts and durations: csv, or json "
                  "(one object per line)")
      ->check(CLI::IsMember({"json", "csv"}))
      ->excludes(output)
      ->excludes(watch)
      ->excludes(not_ready);
  command.footer(R"(
-o html prints a report as one page for a browser. The page needs no network.

With --fleet, the command asks every agent through the API server (get pods/proxy), 32 at a time. If an agent
cannot be reached, its pod's readiness and its node's label count. The node is shown without detail, and never as
failed. Nodes that are dead or leaving (see wait --help) are counted apart.

Exit code:
  0  shown
  2  bad usage
  4  the agent or the cluster could not be asked

Examples:
  prefetchctl status                 ready images, and obstacles
  prefetchctl status -o wide         every image, with full names and ids
  prefetchctl status -o json | jq '.images[] | select(.ready | not)'
  prefetchctl status --fleet --not-ready
  prefetchctl status --fleet --watch
  prefetchctl status --fleet --nodes pool=ci,kubernetes.io/os=linux -o json | jq .causes
  prefetchctl status --fleet -o html > report.html
  prefetchctl status --fleet --results csv > pulls.csv)");
  return [&context, flags] { return RunStatus(context, *flags); };
}

}  // namespace prefetch::ctl
