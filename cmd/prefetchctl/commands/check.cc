// The options and examples of `prefetchctl check`.
#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "commands/command.h"
#include "commands/one_of.h"
#include "ctl/check.h"
#include "ctl/terminal.h"

namespace prefetch::ctl {
namespace {

// Each --policy belongs to the --image before it, so they are read in the order in which they stand.
base::Status PairImages(const CLI::App& command, std::vector<CheckOptions::Image>& images) {
  const CLI::Option* image = command.get_option("--image");
  const CLI::Option* policy = command.get_option("--policy");
  std::size_t image_at = 0, policy_at = 0;
  for (const CLI::Option* option : command.parse_order()) {
    if (option == image) images.push_back({image->results().at(image_at++), {}});
    if (option != policy) continue;
    if (images.empty() || images.back().policy) {
      return base::InvalidArgument("each --policy stands behind the --image that it is for");
    }
    images.back().policy = policy->results().at(policy_at++);
  }
  return {};
}

constexpr const char* kCheckFooter = R"(
Asks the agent of this node whether pods would start with these images as they are here, each image once and
at the strongest policy that any container has for it. An agent that is not there yet is waited for. For Always
the agent asks the registry, with the credentials that the node has. What changes between this answer and a
pod's start is not seen: check right before, in the pod's own init container for the least.

A pod's imagePullSecrets count, by namespace and name. kubelet compares their UIDs as well, which no manifest has:
where kubelet has recorded the image for one secret of that name, the answer is AssumedForPod; for several, Unknown.

--pull: an image that is not here is pulled as those of the list are, with the node's own credentials, and what
a pod would meet then is the answer. A pull that has begun goes on when this command ends before it. The agent
has to allow it (--check-pull), and takes it over its local socket only; one that refuses is exit code 4.

Exit code: 0 yes, 1 no, 2 bad input (all mistakes of all manifests at once), 3 timed out (what was decided is
printed), 4 the agent could not be asked.

Examples:
  prefetchctl check --image quay.io/acme/app:v1 --policy Never
  prefetchctl check -f job.yaml -f cronjob.yaml
  helm template ci/ | prefetchctl check -f - --timeout 2m
  prefetchctl check -f job.yaml --pull --timeout 10m)";

}  // namespace

Command CheckCommand(CLI::App& command, Context& context) {
  auto options = std::make_shared<CheckOptions>();
  auto words = std::make_shared<std::vector<std::string>>();  // of options that PairImages() reads
  AgentOption(command, context);
  Repeatable(command, "-f,--filename", options->files,
             "Manifests: files, folders, patterns; - is standard input (repeatable)");
  Repeatable(command, "--image", *words, "An image as pods name it (repeatable)");
  Repeatable(command, "--policy", *words,
             "imagePullPolicy for the --image before it; else what Kubernetes fills in");
  command.add_option("--timeout", options->timeout, "How long at most, trying to reach the agent included")
      ->capture_default_str();
  command.add_flag(
      "--pull", options->pull,
      "Have the agent pull what is not here, and wait for it (needs an agent with --check-pull)");
  auto unknown = std::make_shared<std::string>("fail");
  command.add_option("--unknown", *unknown, "fail or pass, where it is not known what kubelet would do")
      ->check(CLI::IsMember({"fail", "pass"}))
      ->capture_default_str();
  Repeatable(command, "--pod-secret", options->pod_secrets,
             "A pull secret of the pods, beside those that manifests name: NAMESPACE/NAME/UID (repeatable)");
  command.add_option("--pod-service-account", options->pod_service_account,
                     "The pods' service account: NAMESPACE/NAME/UID");
  command
      .add_option("-n,--namespace", options->default_namespace, "The namespace of manifests that name none")
      ->capture_default_str();
  command.add_flag("--assume-always-pull", options->assume_always_pull,
                   "The cluster's AlwaysPullImages makes every policy Always");
  command.add_option("--default-policy", options->default_policy,
                     "imagePullPolicy where none is stated, set by a controller before Kubernetes does");
  command.add_option("--default-check-policy", options->default_check_policy,
                     "The same for the containers by which that controller checks images");
  Repeatable(command, "--pod-template-path", options->pod_template_paths,
             "Where custom resources have pod templates: spec.tasks.template (repeatable)");
  const std::map<std::string, CheckOutput> names = {
      {"text", CheckOutput::kText}, {"json", CheckOutput::kJson}, {"github", CheckOutput::kGithub}};
  OneOf(command.add_option("-o,--output", options->output, "How each line is printed [text]"), names);
  command.footer(kCheckFooter);
  return [&context, &command, options, words, unknown] {
    options->unknown_passes = *unknown == "pass";
    Terminal terminal = StdoutTerminal();
    options->width = terminal.interactive ? terminal.width : 0;
    if (auto paired = PairImages(command, options->images); !paired) {
      return Fail(kBadInput, paired.error());
    }
    return context.WithAgent(
        [&](const AgentClient& agent) { return Check(context.call, agent, *options, std::cout, std::cerr); });
  };
}

}  // namespace prefetch::ctl
