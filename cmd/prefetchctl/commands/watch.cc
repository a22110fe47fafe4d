// The options and examples of `prefetchctl watch`.
#include "ctl/watch.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "commands/command.h"
#include "commands/fleet_flags.h"

namespace prefetch::ctl {

Command WatchCommand(CLI::App& command, Context& context) {
  auto options = std::make_shared<WatchOptions>();
  auto fleet = std::make_shared<FleetFlags>();
  FleetOptions(command, *fleet);
  command.get_option("--fleet")->required();
  command.add_option("--webhook-file", options->webhook_file, "A file with the URL that gets the news")
      ->required();
  command.add_option("--secret-file", options->secret_file,
                     "A file with a key: each request has its HMAC-SHA256 in X-Prefetchd-Signature-256");
  command.add_option("--interval", options->interval, "Time between two looks, and between two requests")
      ->capture_default_str();
  command.add_flag("--once", options->once, "One look, and all failing nodes as news");
  command.footer(R"(
Looks at all nodes each interval, and sends one JSON object to the webhook when nodes begin to fail or are ready
again. Nodes that still pull, are dead or leave are no news. News that the webhook does not take (anything but 2xx)
is sent again with that of the next look. Slack's incoming webhooks show the member text.

It needs the rights of deploy/examples/fleet-viewer.yaml, and component fleet.

Exit code:
  0    with --once: no news, or the webhook took them
  1    with --once: the webhook did not take them
  2    bad input
  4    with --once: the cluster could not be asked
  130  stopped

Examples:
  prefetchctl watch --fleet --webhook-file slack-url.txt
  prefetchctl watch --fleet --webhook-file url.txt --secret-file key.txt --interval 5m --nodes pool=ci)");
  return [&context, options, fleet] {
    return WithCluster(*fleet, [&](kube::Api& api) {
      options->query = fleet->query;
      return WatchFleet(context.call, api, context.http, *options, std::cout, std::cerr);
    });
  };
}

}  // namespace prefetch::ctl
