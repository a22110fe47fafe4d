// The options and examples of `prefetchctl generate`.
#include "ctl/generate.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "base/text.h"
#include "commands/command.h"
#include "commands/one_of.h"
#include "deploy/embedded_files.h"

namespace prefetch::ctl {

namespace {

struct Flags {
  GenerateFlags generate;
  deploy::CompatOptions compat;
  std::string compat_with, flavor = "vanilla", integration;
};

void CompatOptions(CLI::App& command, Flags& flags) {
  command.add_option("NAME", flags.compat.name, "With --compat: of its DaemonSet and its ConfigMap");
  command
      .add_option(
          "--compat", flags.compat_with,
          "image-prefetcher: in the place of stackrox/image-prefetcher, under its names, with its ConfigMap")
      ->check(CLI::IsMember({"image-prefetcher"}));
  command.add_option("--secret", flags.compat.secret,
                     "With --compat: its pull secret, in the same namespace");
  Repeatable(command, "--secret-repository", flags.compat.secret_repositories,
             "With --secret: what it may be used for, quay.io/acme or *.example.com; else all (repeatable)");
  command.add_option("--k8s-flavor", flags.flavor, "With --compat: vanilla or ocp")
      ->check(CLI::IsMember({"vanilla", "ocp"}))
      ->capture_default_str();
  command
      .add_option("--use-kubelet-image-credential-integration", flags.integration,
                  "With --compat: GKE; of other platforms say --platform, they have theirs")
      ->check(CLI::IsMember({"GKE"}));
  command.add_flag("--result-label", flags.compat.result_label,
                   "With --compat: image-prefetcher.stackrox.io/NAME=succeeded|failed on each Node");
}

base::Status CheckCombination(const Flags& flags) {
  const deploy::GenerateOptions& options = flags.generate.options;
  if (flags.compat_with.empty()) {
    if (!flags.compat.name.empty() || !flags.compat.secret.empty() || flags.compat.result_label ||
        !flags.integration.empty() || !flags.compat.secret_repositories.empty()) {
      return base::InvalidArgument(
          "NAME, --secret, --secret-repository, --result-label and "
          "--use-kubelet-image-credential-integration have a meaning only with --compat");
    }
    if (options.platform.empty()) return base::InvalidArgument("--platform is required");
    if (flags.generate.lists.empty()) return base::InvalidArgument("--list is required");
    return {};
  }
  if (flags.compat.name.empty()) return base::InvalidArgument("--compat image-prefetcher needs a NAME");
  if (!flags.generate.lists.empty() || !options.instance.empty() || !options.gate.empty()) {
    return base::InvalidArgument(
        "--list, --instance and --gate go without --compat: the list is your ConfigMap " + flags.compat.name);
  }
  return {};
}

std::string PlatformFor(const Flags& flags) {
  if (!flags.generate.options.platform.empty()) return flags.generate.options.platform;
  if (flags.flavor == "ocp") return "openshift";
  return flags.integration == "GKE" ? "gke" : "generic";
}

int Run(Flags& flags) {
  if (auto good = CheckCombination(flags); !good) return Fail(kBadInput, good.error());
  // What the component gives the agents, a list may ask for.
  const std::vector<std::string>& components = flags.generate.options.components;
  flags.generate.capabilities.touch =
      std::find(components.begin(), components.end(), "touch") != components.end();
  if (flags.compat_with.empty()) return Generate(flags.generate, std::cout, std::cerr);
  flags.compat.common = flags.generate.options;
  flags.compat.common.platform = PlatformFor(flags);
  return GenerateCompat(flags.compat, flags.generate.output, std::cout, std::cerr);
}

struct TouchDaemonSetFlags {
  std::vector<std::string> lists;
  std::string output;
};

const CLI::App* TouchDaemonSetCommand(CLI::App& generate, TouchDaemonSetFlags& flags) {
  CLI::App* command = generate.add_subcommand(
      "touch-daemonset", "Pods by which kubelet records the images of a list for every pod of a node");
  Repeatable(*command, "--list", flags.lists, "A list file, or a folder of them (repeatable)");
  command->add_option("-o,--output", flags.output, "A file, or a folder; else standard output");
  command->footer(R"(
For clusters in which the agent gets no right to make pods (prefetchd --touch): the same, by DaemonSets whose
containers never run. Every pod of a node may use the images from then on, whatever credentials it has. Entries
with open: Never are left out. Read "Touching" in deploy/README.md before.

Exit code: 0 written, 2 bad input.

Examples:
  prefetchctl generate touch-daemonset --list images.yaml | kubectl apply -f -)");
  return command;
}

}  // namespace

Command GenerateCommand(CLI::App& command, Context&) {
  auto flags = std::make_shared<Flags>();
  auto touch_flags = std::make_shared<TouchDaemonSetFlags>();
  deploy::GenerateOptions& options = flags->generate.options;
  const deploy::Files& tree = deploy::EmbeddedFiles();
  command.add_option("--platform", options.platform, base::Join(deploy::Platforms(tree), ", "));
  Repeatable(command, "--list", flags->generate.lists,
             "A list file, or a folder of them; each becomes a ConfigMap of its own (repeatable)");
  Repeatable(command, "--component", options.components,
             base::Join(deploy::Components(tree), ", ") + " (repeatable)");
  command.add_option("--image", options.image, "The agent's image, in a registry that your nodes reach");
  command.add_option("--kubelet-version", options.kubelet_version, "Of the nodes' kubelet, 1.31 to 1.36");
  command.add_option("--namespace", options.name_space, "Else prefetchd, or prefetchd-INSTANCE");
  command.add_option("--instance", options.instance,
                     "Where several run on the same nodes: names, label and folder end with it");
  command.add_option("--port", options.port, "Of the agent, on the host's network the node's [9477]");
  const std::map<std::string, deploy::GatePart> parts = {{"label", deploy::GatePart::kLabel},
                                                         {"condition", deploy::GatePart::kCondition},
                                                         {"taint", deploy::GatePart::kTaint}};
  OneOf(
      command
          .add_option(
              "--gate", options.gate,
              "What node-gate says on the Node: label, condition, taint; else all three, of an instance the "
              "label (repeatable)")
          ->type_size(1)
          ->allow_extra_args(false),
      parts);
  command.add_option("-o,--output", flags->generate.output,
                     "A file, or a folder (ends with /) for a file an object; else standard output");
  CompatOptions(command, *flags);
  command.footer(R"(
Prints what kustomize would render of deploy/ for this platform, without kustomize. The list is checked first,
and goes into an immutable ConfigMap whose name ends with a hash of it: a change rolls the DaemonSet.

Exit code: 0 written, 2 bad input, with all mistakes.

Examples:
  prefetchctl generate --platform eks --list images.yaml --image registry.example/prefetchd:0.1.0 \
      --kubelet-version 1.36 | kubectl apply --server-side -f -
  prefetchctl generate --platform openshift --list images.yaml --component node-gate \
      --component monitoring -o manifests/
  prefetchctl generate --platform gke --list team-a.yaml --list team-b.txt --instance ci --port 9478
  prefetchctl generate --compat image-prefetcher my-images --namespace prefetch-images --secret pull-secret \
      --k8s-flavor ocp)");
  const CLI::App* touch = TouchDaemonSetCommand(command, *touch_flags);
  return [flags, touch, touch_flags] {
    if (!touch->parsed()) return Run(*flags);
    return GenerateTouchDaemonSet(touch_flags->lists, touch_flags->output, std::cout, std::cerr);
  };
}

}  // namespace prefetch::ctl
