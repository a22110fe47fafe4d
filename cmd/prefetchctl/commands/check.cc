// The options and examples of `prefetchctl check`.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "commands/command.h"
#include "ctl/check.h"
#include "ctl/terminal.h"

namespace prefetch::ctl {
namespace {

constexpr const char* kCheckFooter = R"(
Asks this node's agent whether pods would start now with these images. It asks once for each image, at the
strongest policy of all its containers, and waits for an agent that has not started yet. For Always, the agent
asks the registry with the node's credentials. The answer holds for this moment. An init container of the pod
itself leaves the least time for changes.

A pod's imagePullSecrets count, by namespace and name. kubelet also compares their UIDs, which manifests lack. If
kubelet has recorded the image for one secret of that name, the answer is AssumedForPod; for several, Unknown.

In a pod without access to the agent's socket, ask http://NODE_IP:9477 and pass a token. The agent then answers
for this pod, if its administrator allows that (preflight in the agent's configuration).

With --pull, the agent pulls missing images as it pulls those of the list, with the node's own credentials. The
answer is what a pod would meet then. If this command ends first, a running pull goes on. The agent needs
--check-pull, and allows --pull over its local socket, or to pods that preflight.pull admits; a refusal is exit
code 4.

Exit code:
  0  every image would start
  1  an image would not, none could be checked, or an object is not read
  2  bad input, with all errors of all manifests
  3  timed out; the decided answers are printed
  4  the agent could not be asked

Examples:
  prefetchctl check --image quay.io/acme/app:v1 --policy Never
  prefetchctl check -f job.yaml -f cronjob.yaml
  helm template ci/ | prefetchctl check -f - --timeout 2m
  prefetchctl check -f job.yaml --pull --timeout 10m
  prefetchctl check -f job.yaml --annotate buildkite)";

}  // namespace

Command CheckCommand(CLI::App& command, Context& context) {
  auto options = std::make_shared<CheckOptions>();
  // CLI11 needs a target for both options. PairImages() reads them in the order of the command line.
  auto words = std::make_shared<std::vector<std::string>>();
  AgentOption(command, context);
  FilenameOption(command, options->files);
  RepeatableOption(command, "--image", *words, "An image as pods name it (repeatable)");
  RepeatableOption(command, "--policy", *words,
                   "imagePullPolicy for the --image before it; default: as Kubernetes fills in");
  command.add_option("--timeout", options->timeout, "Maximum time, including the wait for the agent")
      ->capture_default_str();
  command.add_flag(
      "--pull", options->pull,
      "Have the agent pull missing images, and wait for them (needs an agent with --check-pull)");
  auto unknown = std::make_shared<std::string>("fail");
  command.add_option("--unknown", *unknown, "fail or pass, if kubelet's decision cannot be known")
      ->check(CLI::IsMember({"fail", "pass"}))
      ->capture_default_str();
  RepeatableOption(command, "--pod-secret", options->pod_secrets,
                   "Another pull secret of the pods: NAMESPACE/NAME/UID, or NAME with a token (repeatable)");
  command.add_option("--token-file", options->token_file,
                     "A pod's token for the audience prefetchd, shown to an agent over the network [" +
                         std::string(kTokenFile) + ", if it exists]");
  command.add_option("--pod-service-account", options->pod_service_account,
                     "The pods' service account: NAMESPACE/NAME/UID");
  command.add_option("-n,--namespace", options->default_namespace,
                     "Namespace of manifests without one [default; with a token, the pod's own]");
  ManifestFlagOptions(command, options->manifests);
  command.add_option("--annotate", options->annotation_target,
                     "Show one line on the CI job's page: github, gitlab, buildkite, or a file");
  OneOf<CheckOutput>(command.add_option("-o,--output", options->output, "Output format [text]"));
  command.footer(kCheckFooter);
  return [&context, &command, options, words, unknown] {
    // The generated init container mounts its token there, so it needs no option.
    if (options->token_file.empty() && ::access(kTokenFile, R_OK) == 0) options->token_file = kTokenFile;
    options->unknown_passes = *unknown == "pass";
    Terminal terminal = StdoutTerminal();
    options->width = terminal.interactive ? terminal.width : 0;
    if (auto paired = PairImages(command, "--image", options->images); !paired) {
      return Fail(kBadInput, paired.error(), std::cerr);
    }
    auto agent = context.Client();
    if (!agent) return Fail(agent.error(), std::cerr);
    return Check(context.call, *std::move(agent), *options, std::cout, std::cerr);
  };
}

}  // namespace prefetch::ctl
