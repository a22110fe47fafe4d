// The options and examples of the commands about an installation: generate, migrate, plan and uninstall.
#include <algorithm>
#include <iostream>

#include "commands/command.h"
#include "deploy/compat.h"
#include "deploy/installed.h"
#include "deploy/kustomization.h"

namespace prefetch::ctl {

namespace {

// Options that the commands which write manifests share.

// Which nodes.
void NodeOptions(CLI::App& command, deploy::NodeChoice& nodes) {
  RepeatableOption(command, "--node-selector", nodes.selectors,
                   "KEY=VALUE: only nodes with this label (repeatable: with all of them)");
  RepeatableOption(
      command, "--toleration", nodes.tolerations,
      "KEY[=VALUE][:EFFECT]: only nodes whose taints are all given; default: all taints (repeatable)");
  command.add_flag("--include-control-plane", nodes.control_plane,
                   "Also control-plane nodes; default: only those with the worker role, except kind and k3s");
}

// Platform, components, image and its pull secrets, labels of monitors, version of kubelet, port, nodes.
void ManifestOptions(CLI::App& command, deploy::GenerateOptions& options) {
  const deploy::Files& tree = deploy::EmbeddedFiles();
  OfferValues(command.add_option("--platform", options.platform, base::Join(deploy::Platforms(tree), ", ")),
              deploy::Platforms(tree));
  OfferValues(RepeatableOption(command, "--component", options.components,
                               base::Join(deploy::Components(tree), ", ") + " (repeatable)"),
              deploy::Components(tree));
  command.add_option(
      "--image", options.image,
      "The agent's image, in a registry that your nodes reach; '': prefetchd, for tools that replace it");
  RepeatableOption(command, "--image-pull-secret", options.image_pull_secrets,
                   "A pull secret in the agents' namespace for the agent's image; see deploy/docs/install.md "
                   "(repeatable)");
  RepeatableOption(
      command, "--monitoring-label", options.monitor_labels,
      "A label KEY=VALUE for PodMonitor and PrometheusRule, such as release=kube-prometheus-stack "
      "(repeatable)");
  command.add_option("--kubelet-version", options.kubelet_version,
                     "Overrides the version that each agent reads from its Node, 1.31 or later");
  RejectPortZero(command.add_option("--port", options.port,
                                    "Port of the agent; on the host's network, a port of the node [9477]"));
  NodeOptions(command, options.nodes);
}

// Returns InvalidArgument without --image: deploy/ names an image that exists in no registry.
base::Status CheckImageIsGiven(const CLI::App& command) {
  // An explicit empty image is allowed: kustomize or another tool replaces the name later.
  if (command.count("--image") != 0) return {};
  const bool reads = command.get_option_no_throw("--from-cluster") != nullptr;
  return base::InvalidArgument(
      std::string(
          "--image is required: push the agent's image to a registry of yours (deploy/docs/install.md), "
          "and name it") +
      (reads ? ", or give --from-cluster for the image that runs" : "") +
      "; '' leaves the name to a tool that replaces it");
}

void ManifestOutput(CLI::App& command, std::string& output) {
  command.add_option(
      "-o,--output", output,
      "A file, or a directory (ends with /) with one file per object; default: standard output");
}

struct Flags {
  GenerateFlags generate;
  bool from_cluster = false;
  ClusterOptions cluster;
};

base::Status CheckRequired(const GenerateFlags& flags) {
  if (flags.options.platform.empty()) return base::InvalidArgument("--platform is required");
  if (flags.lists.empty()) return base::InvalidArgument("--list is required");
  return {};
}

// Takes the image from the installation that runs, unless the command line names another.
int UseInstalledImage(const base::Call& call, Flags& flags, const CLI::App& command) {
  const int exit = WithCluster(flags.cluster, std::cerr, [&](kube::Api& api) {
    return ReadInstalled(call, api, flags.generate, std::cerr);
  });
  if (exit != kOk) return exit;
  if (command.count("--image") != 0) return kOk;
  flags.generate.options.image = deploy::ImageOfAgent(*flags.generate.installed);
  std::cerr << "note: --image is " << flags.generate.options.image << ", as the cluster runs it\n";
  return kOk;
}

int Run(const base::Call& call, Flags& flags, const CLI::App& command) {
  if (auto good = CheckRequired(flags.generate); !good) return Fail(kBadInput, good.error(), std::cerr);
  if (flags.from_cluster) {
    if (int exit = UseInstalledImage(call, flags, command); exit != kOk) return exit;
  } else if (auto given = CheckImageIsGiven(command); !given) {
    return Fail(kBadInput, given.error(), std::cerr);
  }
  // A list may use every feature that the chosen components give agents.
  const std::vector<std::string>& components = flags.generate.options.components;
  flags.generate.capabilities.touch = std::ranges::find(components, "touch") != components.end();
  return Generate(flags.generate, std::cout, std::cerr);
}

struct TouchDaemonSetFlags {
  std::vector<std::string> lists;
  deploy::NodeChoice nodes;
  std::string output;
};

Subcommand TouchDaemonSetCommand(CLI::App& generate) {
  auto flags = std::make_shared<TouchDaemonSetFlags>();
  CLI::App* command = generate.add_subcommand(
      "touch-daemonset",
      "Generate DaemonSets that make kubelet record a list's images for every pod of a node");
  RepeatableOption(*command, "--list", flags->lists,
                   "A list file, or a directory of list files (repeatable)");
  NodeOptions(*command, flags->nodes);
  command->add_option("-o,--output", flags->output, "A file, or a directory; default: standard output");
  command->footer(R"(
For clusters in which the agent may not create pods (prefetchd --touch). DaemonSets whose containers never run
have the same effect: every pod of a node may use the images from then on, with any credential or none. Entries
with open: Never are left out. Read deploy/docs/touch.md first.

Exit code: 0 written, 2 bad input.

Examples:
  prefetchctl generate touch-daemonset --list images.yaml | kubectl apply -f -)");
  return {command, [flags] {
            return GenerateTouchDaemonSet(flags->lists, flags->nodes, flags->output, std::cout, std::cerr);
          }};
}

constexpr const char* kGenerateHelp = R"(
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
      --component policy --policy-action Deny)";

// The options and examples of `prefetchctl generate init-container`.

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

Subcommand InitContainerCommand(CLI::App& generate) {
  CLI::App* command = generate.add_subcommand(
      "init-container",
      "Generate an init container that checks the images of its own pod, or insert it into manifests");
  auto flags = std::make_shared<InitContainerFlags>();
  // CLI11 needs a target for both options. PairImages() reads them in the order of the command line.
  auto words = std::make_shared<std::vector<std::string>>();
  const std::vector<std::string> platforms = deploy::Platforms(deploy::EmbeddedFiles());
  OfferValues(
      command->add_option("--platform", flags->container.platform, base::Join(platforms, ", "))->required(),
      platforms);
  command->add_option("--image", flags->container.image, "The agent's image: every node with an agent has it")
      ->required();
  command->add_option("-f,--filename", flags->file, "Manifests in one file; - is standard input");
  RepeatableOption(*command, "--check-image", *words, "Without -f: an image of the pod (repeatable)");
  RepeatableOption(*command, "--policy", *words,
                   "imagePullPolicy for the --check-image before it; default: as Kubernetes fills in");
  RepeatableOption(*command, "--pod-secret", flags->container.pod_secrets,
                   "A pull secret that the pods get from their service account (repeatable)");
  RepeatableOption(*command, "--image-pull-secret", flags->image_pull_secrets,
                   "A pull secret for --image, added to the pods (repeatable)");
  RejectPortZero(command->add_option("--port", flags->container.port, "Port of the agent [9477]"));
  command->add_option("--timeout", flags->timeout,
                      "Maximum time of the check [60s, or half of activeDeadlineSeconds if that is shorter]");
  PodTemplatePathOption(*command, flags->pod_template_paths);
  command->add_option("-o,--output", flags->output, "A file; default: standard output");
  command->footer(kInitContainerFooter);
  return {command, [command, flags, words] {
            if (auto paired = PairImages(*command, "--check-image", flags->checked); !paired) {
              return Fail(kBadInput, paired.error(), std::cerr);
            }
            return GenerateInitContainer(*flags, std::cout, std::cerr);
          }};
}

}  // namespace

Command GenerateCommand(CLI::App& command, Context& context) {
  auto flags = std::make_shared<Flags>();
  deploy::GenerateOptions& options = flags->generate.options;
  RepeatableOption(
      command, "--list", flags->generate.lists,
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
  RepeatableOption(command, "--mount-pull-secret", options.mounted_pull_secrets,
                   "A pull secret in the agents' namespace that pullSecrets of --agent-config declares at "
                   "/etc/prefetchd/secrets/NAME; see deploy/docs/node-pools.md (repeatable)");
  command.add_option("--namespace", options.name_space,
                     "Namespace of the agents; default: prefetchd, or prefetchd-INSTANCE");
  command.add_option("--instance", options.instance,
                     "For several agents on one node: a suffix for names, label and directory");
  OneOf<deploy::GatePart>(
      command
          .add_option("--gate", options.gate,
                      "A part that node-gate writes to the Node; default: all three, for an instance the "
                      "label (repeatable)")
          ->type_size(1)
          ->allow_extra_args(false));
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
  command.footer(kGenerateHelp);
  const std::vector<Subcommand> below = {TouchDaemonSetCommand(command), InitContainerCommand(command)};
  return [flags, &command, &context, below] {
    // `generate` is parsed for its subcommands, too.
    for (const Subcommand& one : below) {
      if (one.app->parsed()) return one.run();
    }
    return Run(context.call, *flags, command);
  };
}

// The options and examples of `prefetchctl migrate`.

namespace {

struct MigrateFlags {
  deploy::CompatOptions compat;
  std::string flavor = "vanilla", integration;
  std::string output;
};

// The other options than --platform are those of image-prefetcher's deploy.sh, whose values select a
// platform. InvalidArgument: two options name different ones.
base::Result<std::string> PlatformFor(const MigrateFlags& flags) {
  std::string platform;
  for (const auto& [option, named] :
       {std::pair<std::string, std::string>{"--platform", flags.compat.common.platform},
        {"--k8s-flavor ocp", flags.flavor == "ocp" ? "openshift" : ""},
        {"--use-kubelet-image-credential-integration GKE", flags.integration == "GKE" ? "gke" : ""}}) {
    if (!platform.empty() && !named.empty() && named != platform) {
      return base::InvalidArgument(option + " means the platform " + named + ", and another option " +
                                   platform + ": leave one out");
    }
    if (!named.empty()) platform = named;
  }
  return platform.empty() ? "generic" : platform;
}

// NAME, and the options of image-prefetcher's own deploy.sh.
void MigrateOptions(CLI::App& command, MigrateFlags& flags) {
  command.add_option("NAME", flags.compat.name, "Name of its DaemonSet and its ConfigMap")->required();
  command.add_option("--secret", flags.compat.secret, "Its pull secret, in the same namespace");
  RepeatableOption(command, "--secret-repository", flags.compat.secret_repositories,
                   "Repositories of --secret, such as quay.io/acme or *.example.com; default: all registries "
                   "with a domain and no port (repeatable)");
  command.add_option("--k8s-flavor", flags.flavor, "vanilla or ocp")
      ->check(CLI::IsMember({"vanilla", "ocp"}))
      ->capture_default_str();
  command
      .add_option("--use-kubelet-image-credential-integration", flags.integration,
                  "GKE; for other platforms, use --platform")
      ->check(CLI::IsMember({"GKE"}));
  command.add_flag("--result-label", flags.compat.result_label,
                   "Write image-prefetcher.stackrox.io/NAME=succeeded|failed to each Node");
}

}  // namespace

Command MigrateCommand(CLI::App& command, Context&) {
  auto flags = std::make_shared<MigrateFlags>();
  deploy::GenerateOptions& common = flags->compat.common;
  MigrateOptions(command, *flags);
  command.add_option("--namespace", common.name_space, "Namespace of its DaemonSet and its ConfigMap");
  ManifestOptions(command, common);
  ManifestOutput(command, flags->output);
  command.footer(R"(
Prints manifests that replace an installation of stackrox/image-prefetcher. They keep its names and its pull
secret, and use its ConfigMap as the list. Read deploy/docs/lists.md first. Apply them without --server-side, which
would keep the old init container.

Exit code: 0 written, 2 bad input.

Examples:
  prefetchctl migrate image-prefetcher my-images --namespace prefetch-images --secret pull-secret \
      --k8s-flavor ocp --image registry.example/prefetchd:0.1.0 | kubectl apply -f -)");
  return [flags, &command, &common] {
    if (auto good = CheckImageIsGiven(command); !good) return Fail(kBadInput, good.error(), std::cerr);
    auto platform = PlatformFor(*flags);
    if (!platform) return Fail(kBadInput, platform.error(), std::cerr);
    common.platform = *std::move(platform);
    return GenerateCompat(flags->compat, flags->output, std::cout, std::cerr);
  };
}

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

namespace {

struct UninstallFlags {
  bool nodes = false;
  UninstallOptions options;
  ClusterOptions cluster;
};

int Run(const base::Call& call, const UninstallFlags& flags) {
  // The required flag says that the command clears Node objects, and does not remove the agent itself.
  if (!flags.nodes) {
    return RejectInput({"--nodes is required: the command clears Node objects only; delete the "
                        "agent with kubectl delete and its manifests"},
                       std::cerr);
  }
  return WithCluster(flags.cluster, std::cerr, [&](kube::Api& api) {
    return Uninstall(call, api, flags.options, std::cout, std::cerr);
  });
}

}  // namespace

Command UninstallCommand(CLI::App& command, Context& context) {
  auto flags = std::make_shared<UninstallFlags>();
  UninstallOptions& options = flags->options;
  command.add_flag("--nodes", flags->nodes, "Clear Node objects of what agents wrote there");
  RejectEmpty(
      command.add_option("--instance", options.instance,
                         "Clear only this instance's label; default: all labels below prefetchd.dev/, the "
                         "condition ImagesPrefetched and the startup taint"));
  RepeatableOption(command, "--label", options.labels,
                   "Also clear this label, the value of nodeResultLabel (repeatable)");
  command.add_option("--startup-taint-key", options.taint_key,
                     "Also remove this taint, the value of startupTaintKey");
  command.add_option("--selector", options.selector, "Only nodes with these labels: pool=ci");
  command.add_flag("--dry-run", options.dry_run, "Print the changes, and make none");
  ClusterFlags(command, flags->cluster);
  command.footer(R"(
Keep this order:
  1. Remove the startup taint from the node pools. Otherwise new nodes start with it, and keep it.
  2. If a list has pin: true, take the pins off. They are on the nodes, which this command does not reach:
     kubectl -n prefetchd set env daemonset/prefetchd PREFETCHD_UNPIN=true
     kubectl -n prefetchd rollout status daemonset/prefetchd
  3. Delete the agent. Otherwise it writes everything again.
  4. Run this command.

It needs the rights to list, get and patch nodes, and to patch nodes/status.

Exit code:
  0  all nodes are clear
  1  some nodes are not clear; run it again
  2  bad input
  4  the cluster could not be asked

Examples:
  prefetchctl uninstall --nodes --dry-run
  prefetchctl uninstall --nodes --context ci
  prefetchctl uninstall --nodes --label image-prefetcher.stackrox.io/my-images
  prefetchctl uninstall --nodes --instance team-a --selector pool=ci)");
  return [&context, flags] { return Run(context.call, *flags); };
}

}  // namespace prefetch::ctl
