// The options and examples of `prefetchctl migrate`.
#include "commands/migrate.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/text.h"
#include "commands/command.h"
#include "commands/one_of.h"
#include "ctl/generate.h"
#include "deploy/embedded_files.h"

namespace prefetch::ctl {
namespace {

// --platform wins. The other options are those of image-prefetcher's deploy.sh, whose values select a
// platform.
std::string PlatformFor(const MigrateFlags& flags, const deploy::GenerateOptions& common) {
  if (!common.platform.empty()) return common.platform;
  if (flags.flavor == "ocp") return "openshift";
  return flags.integration == "GKE" ? "gke" : "generic";
}

}  // namespace

// `flavor` has a default, so its value cannot show whether it was given.
bool MigrateFlags::IsUsed() const {
  return !compat.name.empty() || !compat.secret.empty() || compat.result_label || !integration.empty() ||
         !compat.secret_repositories.empty();
}

void NodeOptions(CLI::App& command, deploy::NodeChoice& nodes) {
  Repeatable(command, "--node-selector", nodes.selectors,
             "KEY=VALUE: only nodes with this label (repeatable: with all of them)");
  Repeatable(command, "--toleration", nodes.tolerations,
             "KEY[=VALUE][:EFFECT]: only nodes whose taints are all given; default: all taints (repeatable)");
  command.add_flag("--include-control-plane", nodes.control_plane,
                   "Also control-plane nodes; default: only those with the worker role, except kind and k3s");
}

void ManifestOptions(CLI::App& command, deploy::GenerateOptions& options) {
  const deploy::Files& tree = deploy::EmbeddedFiles();
  Offers(command.add_option("--platform", options.platform, base::Join(deploy::Platforms(tree), ", ")),
         deploy::Platforms(tree));
  Repeatable(command, "--component", options.components,
             base::Join(deploy::Components(tree), ", ") + " (repeatable)");
  Offers(command.get_option("--component"), deploy::Components(tree));
  command.add_option(
      "--image", options.image,
      "The agent's image, in a registry that your nodes reach; '': prefetchd, for tools that replace it");
  Repeatable(command, "--image-pull-secret", options.image_pull_secrets,
             "A pull secret in the agents' namespace for the agent's image; see deploy/docs/install.md "
             "(repeatable)");
  Repeatable(command, "--monitoring-label", options.monitor_labels,
             "A label KEY=VALUE for PodMonitor and PrometheusRule, such as release=kube-prometheus-stack "
             "(repeatable)");
  command
      .add_option_function<std::vector<std::string>>(
          "--monitor-label",
          [&options](const std::vector<std::string>& labels) {
            std::cerr
                << "note: --monitor-label is --monitoring-label; this spelling works for one more release\n";
            options.monitor_labels.insert(options.monitor_labels.end(), labels.begin(), labels.end());
          })
      ->group("")
      ->expected(1)
      ->take_all();
  command.add_option("--kubelet-version", options.kubelet_version,
                     "Overrides the version that each agent reads from its Node, 1.31 or later");
  command.add_option("--port", options.port,
                     "Port of the agent; on the host's network, a port of the node [9477]");
  NodeOptions(command, options.nodes);
}

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

void MigrateOptions(CLI::App& command, MigrateFlags& flags) {
  command.add_option("NAME", flags.compat.name, "Name of its DaemonSet and its ConfigMap");
  command.add_option("--secret", flags.compat.secret, "Its pull secret, in the same namespace");
  Repeatable(command, "--secret-repository", flags.compat.secret_repositories,
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

int Migrate(const MigrateFlags& flags, const deploy::GenerateOptions& common, const std::string& output) {
  deploy::CompatOptions options = flags.compat;
  options.common = common;
  options.common.platform = PlatformFor(flags, common);
  return GenerateCompat(options, output, std::cout, std::cerr);
}

Command MigrateCommand(CLI::App& command, Context&) {
  struct Flags {
    MigrateFlags migrate;
    deploy::GenerateOptions common;
    std::string output;
  };
  auto flags = std::make_shared<Flags>();
  MigrateOptions(command, flags->migrate);
  command.get_option("NAME")->required();
  command.add_option("--namespace", flags->common.name_space, "Namespace of its DaemonSet and its ConfigMap");
  ManifestOptions(command, flags->common);
  ManifestOutput(command, flags->output);
  command.footer(R"(
Prints manifests that replace an installation of stackrox/image-prefetcher. They keep its names and its pull
secret, and use its ConfigMap as the list. Read deploy/docs/lists.md first.

Exit code: 0 written, 2 bad input.

Examples:
  prefetchctl migrate image-prefetcher my-images --namespace prefetch-images --secret pull-secret \
      --k8s-flavor ocp --image registry.example/prefetchd:0.1.0 | kubectl apply --server-side -f -)");
  return [flags, &command] {
    if (auto good = CheckImageIsGiven(command); !good) return Fail(kBadInput, good.error(), std::cerr);
    return Migrate(flags->migrate, flags->common, flags->output);
  };
}

}  // namespace prefetch::ctl
