// The options and examples of `prefetchctl watch`.
#include "ctl/watch.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "commands/command.h"
#include "doc/duration.h"

namespace prefetch::ctl {

constexpr std::chrono::seconds kShortestInterval{10};

Command WatchCommand(CLI::App& command, Context& context) {
  auto options = std::make_shared<WatchOptions>();
  auto fleet = std::make_shared<FleetFlags>();
  FleetOptions(command, *fleet);
  command.get_option("--fleet")->required();
  command.add_option("--webhook-file", options->webhook_file, "A file with the URL that gets the news")
      ->required();
  command.add_option("--secret-file", options->secret_file,
                     "A file with a key: each request has its HMAC-SHA256 in X-Prefetchd-Signature-256");
  auto interval = std::make_shared<std::string>("60s");
  command.add_option("--interval", *interval, "Time between two looks, and between two requests")
      ->capture_default_str();
  command.add_flag("--once", options->once, "Poll once, report all failing nodes, and exit");
  command.footer(R"(
Looks at all nodes each interval, and sends one JSON object to the webhook when nodes begin to fail or are ready
again. Nodes that still pull, are dead or leave are no news. News that the webhook does not take (anything but 2xx)
is sent again with that of the next look. Slack's incoming webhooks show the member text. The proxies of the
environment count (HTTPS_PROXY, NO_PROXY).

It needs the rights of deploy/examples/fleet-viewer.yaml. Without component fleet, the news has no messages.

Exit code:
  0    with --once: no news, or the webhook took them
  1    the webhook rejects its URL; with --once: it did not take the news
  2    bad input
  4    the cluster refuses the rights or the credentials; with --once: it could not be asked
  130  stopped

Examples:
  prefetchctl watch --fleet --webhook-file slack-url.txt
  prefetchctl watch --fleet --webhook-file url.txt --secret-file key.txt --interval 5m --nodes pool=ci)");
  return [&context, options, fleet, interval] {
    auto parsed = doc::ParseDuration(*interval);
    if (!parsed || *parsed < kShortestInterval) {
      return RejectInput({"--interval must be a duration of at least 10s"}, std::cerr);
    }
    options->interval = *parsed;
    return WithCluster(fleet->cluster, std::cerr, [&](kube::Api& api) {
      options->query = fleet->query;
      return WatchFleet(context.call, api, config::ProcessEnv, *options, std::cout, std::cerr);
    });
  };
}

}  // namespace prefetch::ctl
