// The options and examples of `prefetchctl plan`.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "commands/command.h"
#include "ctl/fleet_plan.h"

namespace prefetch::ctl {

Command PlanCommand(CLI::App& command, Context& context) {
  auto options = std::make_shared<PlanOptions>();
  command.add_option("--nodes", options->nodes, "Number of nodes")->required();
  RepeatableOption(command, "--list", options->lists,
                   "A list file, or a directory of list files (repeatable)")
      ->required();
  command.add_option("--node-rate", options->node_rate, "MB a second that one node receives")
      ->capture_default_str();
  command.add_option("--registry-rate", options->registry_rate,
                     "MB a second that the registries send to all nodes together; default: no limit");
  command.add_option("--start-jitter", options->start_jitter, "limits.startJitter of the agents")
      ->capture_default_str();
  command.add_option("--image-size", options->image_size,
                     "Ask no registry: each image is a download of this size, in MB");
  command
      .add_option("--hub-pulls", options->hub_pulls,
                  "Pulls in six hours that Docker Hub allows: an address, or your account")
      ->capture_default_str();
  command.add_option("--platform", options->platform,
                     "os/architecture of the nodes; default: this machine's");
  TextOrJsonOption(command, options->json);
  CredentialOptions(command, options->credentials);
  command.add_option("--timeout", options->timeout, "Maximum time for the registries: 90s, 5m")
      ->capture_default_str();
  command.footer(R"(
Calculates what a list costs a fleet of empty nodes: bytes and requests for each registry, and the effect of
startJitter. It also shows when the images of each priority are on all nodes, and the waves of a rollout.
With a pullWindow, it compares the time of the pulls with the time for which the window is open.
Sizes are those of downloads; the registries tell them, and the command pulls nothing. It warns if Docker Hub,
ECR or ECR Public would refuse pulls, by their published limits. The times are the least possible: they leave
out unpacking.

Exit code:
  0  calculated
  1  a registry did not tell the size of an image, which counts with size 0
  2  bad input

Examples:
  prefetchctl plan --nodes 300 --list images.yaml
  prefetchctl plan --nodes 300 --list images.yaml --image-size 500 --start-jitter 10m
  prefetchctl plan --nodes 300 --list images.yaml --registry-rate 2000 --platform linux/arm64)");
  return [&context, options] {
    return PlanFleet(context.call, *options, config::ProcessEnv, std::cout, std::cerr);
  };
}

}  // namespace prefetch::ctl
