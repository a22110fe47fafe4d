// The options and examples of `prefetchctl generate init-container`.
#include "ctl/init_container.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "commands/command.h"
#include "commands/one_of.h"
#include "deploy/embedded_files.h"
#include "deploy/generate.h"

namespace prefetch::ctl {
namespace {

constexpr const char* kInitContainerFooter = R"(
The container asks the agent of the pod's own node whether the pod's images would start. If one would not, the
container fails within its timeout, and its termination message names image, node and reason. The pod needs no right
on the API server: it shows a token that only agents accept. The address needs no DNS.

With -f, prints the manifests with the container as the first init container of each pod, and the volume with the
token. A container of the same name (check-images) is replaced, so run the command again when the images change.
Comments stay where they are in YAML of block style; of other manifests all is written anew.

The agents need the component preflight. Their configuration admits namespaces, images and Always: see
deploy/docs/gate.md. If nodes pull the agent's image with a pull secret, each namespace needs a copy of it.

Exit code: 0 written, 2 bad input, with all errors.

Examples:
  prefetchctl generate init-container --platform eks --image registry.example/prefetchd:0.1.0 \
      -f job.yaml | kubectl apply -f -
  helm template ci/ | prefetchctl generate init-container --platform openshift \
      --image registry.example/prefetchd:0.1.0 --image-pull-secret pull -f - -o ci.yaml
  prefetchctl generate init-container --platform gke --image registry.example/prefetchd:0.1.0 \
      --check-image quay.io/acme/app:v1 --policy Never)";

}  // namespace

Subcommand InitContainerCommand(CLI::App& generate) {
  CLI::App* command = generate.add_subcommand(
      "init-container",
      "Generate an init container that checks the images of its own pod, or insert it into manifests");
  auto flags = std::make_shared<InitContainerFlags>();
  // CLI11 needs a target for both options. PairImages() reads them in the order of the command line.
  auto words = std::make_shared<std::vector<std::string>>();
  const std::vector<std::string> platforms = deploy::Platforms(deploy::EmbeddedFiles());
  Offers(command->add_option("--platform", flags->platform, base::Join(platforms, ", "))->required(),
         platforms);
  command->add_option("--image", flags->image, "The agent's image: every node with an agent has it")
      ->required();
  command->add_option("-f,--filename", flags->file, "Manifests in one file; - is standard input");
  Repeatable(*command, "--check-image", *words, "Without -f: an image of the pod (repeatable)");
  Repeatable(*command, "--policy", *words,
             "imagePullPolicy for the --check-image before it; default: as Kubernetes fills in");
  Repeatable(*command, "--pod-secret", flags->pod_secrets,
             "A pull secret that the pods get from their service account (repeatable)");
  Repeatable(*command, "--image-pull-secret", flags->image_pull_secrets,
             "A pull secret for --image, added to the pods (repeatable)");
  command->add_option("--port", flags->port, "Port of the agent [9477]");
  command->add_option("--timeout", flags->timeout,
                      "Maximum time of the check [60s, or half of activeDeadlineSeconds if that is shorter]");
  Repeatable(*command, "--pod-template-path", flags->pod_template_paths,
             "Path of pod templates in custom resources, such as spec.tasks.template (repeatable)");
  command->add_option("-o,--output", flags->output, "A file; default: standard output");
  command->footer(kInitContainerFooter);
  return {command, [command, flags, words] {
            if (auto paired = PairImages(*command, "--check-image", flags->checked); !paired) {
              return Fail(kBadInput, paired.error(), std::cerr);
            }
            return GenerateInitContainer(*flags, std::cout, std::cerr);
          }};
}

}  // namespace prefetch::ctl
