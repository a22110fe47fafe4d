// The options and examples of `prefetchctl retry`.
#include "ctl/retry.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "commands/command.h"

namespace prefetch::ctl {

Command RetryCommand(CLI::App& command, Context& context) {
  auto options = std::make_shared<RetryOptions>();
  auto fleet = std::make_shared<FleetFlags>();
  AgentOption(command, context);
  FleetOptions(command, *fleet);
  command.add_option("IMAGE", options->images, "Images of the list; default: all that wait");
  TextOrJsonOption(command, options->json)->excludes("--fleet");
  command.footer(R"(
Has the agent try images at once that wait for their next attempt, for example after you pushed a missing tag. The
back-off is skipped once; prefetchctl status shows the request, and the result. A registry that named a time
(Retry-After) is left alone until then. An agent takes three requests at once, and then one a minute.

With --fleet, the agents of all nodes are asked. That needs component fleet, and the rights of
deploy/examples/fleet-operator.yaml.

Exit code:
  0  requested, or nothing to retry
  1  an image is not on the list, or with --fleet, an agent did not take the request
  2  bad input
  4  no agent took the request

Examples:
  prefetchctl retry
  prefetchctl retry quay.io/acme/app:v1
  kubectl prefetch retry --fleet quay.io/acme/app:v1)");
  return [&context, options, fleet] {
    if (fleet->fleet) {
      return WithCluster(fleet->cluster, std::cerr, [&](kube::Api& api) {
        return RetryFleet(context.call, api, fleet->query, options->images, std::cout, std::cerr);
      });
    }
    auto agent = context.Client();
    if (!agent) return Fail(agent.error(), std::cerr);
    return Retry(context.call, *agent, *options, std::cout, std::cerr);
  };
}

}  // namespace prefetch::ctl
