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
#include "commands/migrate.h"
#include "commands/one_of.h"
#include "ctl/cluster.h"
#include "deploy/embedded_files.h"
#include "deploy/installed.h"

namespace prefetch::ctl {

namespace {

struct Flags {
  GenerateFlags generate;
  MigrateFlags migrate;
  bool from_cluster = false;
  ClusterOptions cluster;
  std::string compat_with;  // The deprecated spelling of `migrate`.
};

// Adds the deprecated `generate --compat image-prefetcher NAME`. It still works, but the help does not show
// it.
void CompatOptions(CLI::App& command, Flags& flags) {
  command.add_option("--compat", flags.compat_with, "Deprecated: use prefetchctl migrate image-prefetcher")
      ->group("");
  MigrateOptions(command, flags.migrate);
  for (const char* option : {"NAME", "--secret", "--secret-repository", "--k8s-flavor",
                             "--use-kubelet-image-credential-integration", "--result-label"}) {
    command.get_option(option)->group("");
  }
}

base::Status CheckCombination(const Flags& flags) {
  const deploy::GenerateOptions& options = flags.generate.options;
  if (flags.compat_with.empty()) {
    // These options parse because of --compat. Without it they would have no effect.
    if (flags.migrate.IsUsed()) {
      return base::InvalidArgument(
          "NAME, --secret, --secret-repository, --result-label and "
          "--use-kubelet-image-credential-integration are options of prefetchctl migrate image-prefetcher");
    }
    if (options.platform.empty()) return base::InvalidArgument("--platform is required");
    if (flags.generate.lists.empty()) return base::InvalidArgument("--list is required");
    return {};
  }
  if (flags.compat_with != "image-prefetcher") {
    return base::InvalidArgument("--compat must be image-prefetcher, not " + flags.compat_with);
  }
  if (flags.migrate.compat.name.empty())
    return base::InvalidArgument("--compat image-prefetcher needs a NAME");
  if (flags.from_cluster || !flags.generate.lists.empty() || !options.instance.empty() ||
      !options.gate.empty() || options.policy_action) {
    return base::InvalidArgument(
        "--from-cluster, --list, --instance, --gate and --policy-action cannot be used with --compat: the "
        "list is your "
        "ConfigMap " +
        flags.migrate.compat.name);
  }
  return {};
}

// Takes the image from the installation that runs, unless the command line names another.
int TakeInstalled(const base::Call& call, Flags& flags, const CLI::App& command) {
  auto cluster = Cluster::Open(flags.cluster);
  if (!cluster) return Fail(cluster.error(), std::cerr);
  if (int exit = ReadInstalled(call, (*cluster)->api(), flags.generate, std::cerr); exit != kOk) return exit;
  if (command.count("--image") != 0) return kOk;
  flags.generate.options.image = deploy::ImageOfAgent(*flags.generate.runs);
  std::cerr << "note: --image is " << flags.generate.options.image << ", as the cluster runs it\n";
  return kOk;
}

int Run(const base::Call& call, Flags& flags, const CLI::App& command) {
  if (auto good = CheckCombination(flags); !good) return Fail(kBadInput, good.error(), std::cerr);
  if (flags.from_cluster) {
    if (int exit = TakeInstalled(call, flags, command); exit != kOk) return exit;
  } else if (auto given = CheckImageIsGiven(command); !given) {
    return Fail(kBadInput, given.error(), std::cerr);
  }
  // A list may use every feature that the chosen components give agents.
  const std::vector<std::string>& components = flags.generate.options.components;
  flags.generate.capabilities.touch =
      std::find(components.begin(), components.end(), "touch") != components.end();
  if (flags.compat_with.empty()) return Generate(flags.generate, std::cout, std::cerr);
  WarnOfDeprecatedSpelling("generate --compat image-prefetcher", "migrate image-prefetcher");
  return Migrate(flags.migrate, flags.generate.options, flags.generate.output);
}

struct TouchDaemonSetFlags {
  std::vector<std::string> lists;
  deploy::NodeChoice nodes;
  std::string output;
};

const CLI::App* TouchDaemonSetCommand(CLI::App& generate, TouchDaemonSetFlags& flags) {
  CLI::App* command = generate.add_subcommand(
      "touch-daemonset",
      "Generate DaemonSets that make kubelet record a list's images for every pod of a node");
  Repeatable(*command, "--list", flags.lists, "A list file, or a directory of list files (repeatable)");
  NodeOptions(*command, flags.nodes);
  command->add_option("-o,--output", flags.output, "A file, or a directory; default: standard output");
  command->footer(R"(
For clusters in which the agent may not create pods (prefetchd --touch). DaemonSets whose containers never run
have the same effect: every pod of a node may use the images from then on, with any credential or none. Entries
with open: Never are left out. Read deploy/docs/touch.md first.

Exit code: 0 written, 2 bad input.

Examples:
  prefetchctl generate touch-daemonset --list images.yaml | kubectl apply -f -)");
  return command;
}

}  // namespace

Command GenerateCommand(CLI::App& command, Context& context) {
  auto flags = std::make_shared<Flags>();
  auto touch_flags = std::make_shared<TouchDaemonSetFlags>();
  deploy::GenerateOptions& options = flags->generate.options;
  Repeatable(command, "--list", flags->generate.lists,
             "A list file, or a directory of list files; each becomes a ConfigMap of its own (repeatable)");
  ManifestOptions(command, options);
  CLI::Option* from_cluster = command.add_flag(
      "--from-cluster", flags->from_cluster,
      "Read the installation in the cluster: use its --image, and report what these manifests would remove");
  for (CLI::Option* option : ClusterFlags(command, flags->cluster)) {
    option->needs(from_cluster)->group("With --from-cluster");
  }
  command.add_option(
      "--agent-config", flags->generate.agent_config,
      "agent.yaml of the agents: limits, preflight, pullSecrets; see deploy/docs/reference/configuration.md");
  Repeatable(command, "--mount-pull-secret", options.mounted_pull_secrets,
             "A pull secret in the agents' namespace that pullSecrets of --agent-config declares at "
             "/etc/prefetchd/secrets/NAME; see deploy/docs/node-pools.md (repeatable)");
  command.add_option("--namespace", options.name_space,
                     "Namespace of the agents; default: prefetchd, or prefetchd-INSTANCE");
  command.add_option("--instance", options.instance,
                     "For several agents on one node: a suffix for names, label and directory");
  const std::map<std::string, deploy::GatePart> parts = {{"label", deploy::GatePart::kLabel},
                                                         {"condition", deploy::GatePart::kCondition},
                                                         {"taint", deploy::GatePart::kTaint}};
  OneOf(command
            .add_option("--gate", options.gate,
                        "A part that node-gate writes to the Node; default: all three, for an instance the "
                        "label (repeatable)")
            ->type_size(1)
            ->allow_extra_args(false),
        parts);
  command.add_option("--startup-taint-key", options.startup_taint_key,
                     "With --component node-gate: another key of the startup taint, such as one that the "
                     "autoscaler knows; see deploy/docs/new-nodes.md");
  const std::map<std::string, deploy::PolicyAction> actions = {{"Warn", deploy::PolicyAction::kWarn},
                                                               {"Audit", deploy::PolicyAction::kAudit},
                                                               {"Deny", deploy::PolicyAction::kDeny}};
  OneOf(command.add_option("--policy-action", options.policy_action,
                           "With --component policy: the answer to Always for images of the list [Warn]"),
        actions);
  ManifestOutput(command, flags->generate.output);
  CompatOptions(command, *flags);
  command.footer(R"(
Prints exactly what kustomize would render of deploy/ for this platform, without kustomize. The command validates
the list first. The list becomes an immutable ConfigMap whose name ends with a hash, so that a change rolls out
the DaemonSet. The manifests are the whole installation: give all components and options each time, or those of
last time are gone when you apply them. With --from-cluster, the command names these on standard error.

Exit code: 0 written, 2 bad input, with all errors, 4 the cluster could not be asked.

Examples:
  prefetchctl generate --platform eks --list images.yaml --image registry.example/prefetchd:0.1.0 \
      | kubectl apply --server-side -f -
  prefetchctl generate --platform openshift --list images.yaml --image registry.example/prefetchd:0.1.0 \
      --component node-gate --component monitoring -o manifests/
  prefetchctl generate --platform eks --list images.yaml --from-cluster --component node-gate \
      | kubectl apply --server-side -f -
  prefetchctl generate --platform gke --list team-a.yaml --list team-b.txt --image registry.example/prefetchd:0.1.0 \
      --instance ci --port 9478 --node-selector pool=ci
  prefetchctl generate --platform eks --list team-a.yaml --image registry.example/prefetchd:0.1.0 \
      --agent-config agent.yaml --mount-pull-secret team-a
  prefetchctl generate --platform eks --list images.yaml --image registry.example/prefetchd:0.1.0 \
      --component policy --policy-action Deny)");
  const CLI::App* touch = TouchDaemonSetCommand(command, *touch_flags);
  return [flags, &command, &context, touch, touch_flags, init = InitContainerCommand(command)] {
    // CLI11 runs the callback of `generate` for its subcommands, too.
    if (init.app->parsed()) return init.run();
    if (!touch->parsed()) return Run(context.call, *flags, command);
    return GenerateTouchDaemonSet(touch_flags->lists, touch_flags->nodes, touch_flags->output, std::cout,
                                  std::cerr);
  };
}

}  // namespace prefetch::ctl
