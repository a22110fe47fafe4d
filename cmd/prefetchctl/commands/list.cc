// The options and examples of `prefetchctl list`.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "commands/command.h"
#include "image/kubelet_version.h"

namespace prefetch::ctl {

namespace {

struct ListCheckFlags {
  std::vector<std::string> files;
  std::string agent;  // The agent's address, or a file that CLI11 took for it.
  list::Capabilities capabilities;
};

void TouchOption(CLI::App& command, list::Capabilities& capabilities) {
  command.add_flag("--touch", capabilities.touch, "Accept open: Always, for agents with --touch");
}

int RunListCheck(Context& context, bool ask_agent, ListCheckFlags flags) {
  if (IsAgentAddress(flags.agent)) {
    context.agent = flags.agent;
  } else if (!flags.agent.empty()) {
    // `--agent images.yaml` has no address, and CLI11 took the file for it.
    flags.files.insert(flags.files.begin(), flags.agent);
  }
  if (flags.files.empty()) return RejectInput({"FILE is required"}, std::cerr);
  if (!ask_agent) return ListCheck({}, nullptr, flags.files, flags.capabilities, std::cout, std::cerr);
  auto agent = context.Client();
  if (!agent) return Fail(agent.error(), std::cerr);
  return ListCheck(context.call, &*agent, flags.files, flags.capabilities, std::cout, std::cerr);
}

}  // namespace

Command ListCheckCommand(CLI::App& command, Context& context) {
  auto flags = std::make_shared<ListCheckFlags>();
  command.add_option("FILE", flags->files, "List files, or directories of list files; - is standard input");
  const CLI::Option* agent =
      command
          .add_option("--agent", flags->agent,
                      "Also ask this node's agent for missing names of the same images; "
                      "unix:///path or http://host:port, or nothing for the default one")
          ->expected(0, 1);
  TouchOption(command, flags->capabilities);
  command.footer(R"(
Prints all errors of the lists at once, and notes, which do not count.

Exit code:
  0  valid
  2  invalid
  4  with --agent: the agent could not be asked

Examples:
  prefetchctl list check images.yaml lists/
  git show main:images.yaml | prefetchctl list check -
  prefetchctl list check images.yaml --agent)");
  return [&context, flags, agent] { return RunListCheck(context, agent->count() > 0, *flags); };
}

Command ListPrintCommand(CLI::App& command, Context&) {
  auto files = std::make_shared<std::vector<std::string>>();
  auto output = std::make_shared<ListOutput>(ListOutput::kYaml);
  command.add_option("FILE", *files, "List files, or directories of list files; - is standard input")
      ->required();
  OneOf<ListOutput>(command.add_option("-o,--output", *output, "Output format [yaml]"));
  auto sorted = std::make_shared<bool>(false);
  command.add_flag("--sorted", *sorted, "Sort by name");
  auto capabilities = std::make_shared<list::Capabilities>();
  TouchOption(command, *capabilities);
  command.footer(R"(
Prints the canonical form of a list, or the hashes that the agent shows. The first hash is that of all sources
together. With the component preflight, agents have one more source, their own image: use wait --list, not --hash.

Exit code: 0 printed, 2 bad input.

Examples:
  prefetchctl list print images.yaml
  prefetchctl list print --sorted images.txt
  prefetchctl list print lists/ -o hash)");
  return [files, output, sorted, capabilities] {
    if (*sorted && *output == ListOutput::kHash) {
      return RejectInput({"a hash is that of the list as it is: leave out --sorted"}, std::cerr);
    }
    return ListPrint(*files, *output, *sorted, *capabilities, std::cout, std::cerr);
  };
}

Command ListDiffCommand(CLI::App& command, Context& context) {
  auto options = std::make_shared<ListDiffOptions>();
  auto node = std::make_shared<bool>(false);
  command.add_option("FILE", options->files,
                     "Two list files, directories of list files, or - for standard input; one with --node");
  command.add_flag("--node", *node, "Compare with this node, as its agent reports it");
  AgentOption(command, context);
  TextOrJsonOption(command, options->json);
  command.footer(R"(
Prints the changes from the first list to the second, image by image: - is only in the first, + only in the
second, ~ differs. Order and comments do not count, nor does the spelling of an image that has only one. With
--node, the command compares with the list that the node's agent has in force, and names its absent images.

Exit code:
  0  no difference
  1  the lists differ
  2  bad input
  4  the agent could not be asked

Examples:
  prefetchctl list diff old.yaml new.yaml
  prefetchctl list diff images.yaml --node)");
  return [&context, options, node] {
    // With --node, the second list comes from the agent.
    std::size_t needed = *node ? 1 : 2;
    if (options->files.size() != needed) {
      return RejectInput({*node ? "give one FILE with --node" : "give two FILEs, or one with --node"},
                         std::cerr);
    }
    if (!*node) return DiffTwoLists(*options, std::cout, std::cerr);
    auto agent = context.Client();
    if (!agent) return Fail(agent.error(), std::cerr);
    return DiffListWithNode(context.call, *agent, *options, std::cout, std::cerr);
  };
}

namespace {

struct ImportClusterFlags {
  bool read = false, all_namespaces = false;
  ClusterOptions cluster;

  base::Status Check(const ListImportOptions& options) const {
    if (!read) return {};
    if (options.namespaces.empty() != all_namespaces) {
      return base::InvalidArgument("--from-cluster needs the namespaces: give -n NAMESPACE, or -A for all");
    }
    const std::string& config_map = options.config_map;
    if (!config_map.empty() && (std::ranges::count(config_map, '/') != 1 || config_map.starts_with('/') ||
                                config_map.ends_with('/'))) {
      return base::InvalidArgument("--configmap must be NAMESPACE/NAME");
    }
    if (!config_map.empty() && options.output != list::DraftOutput::kYaml) {
      return base::InvalidArgument("--configmap writes YAML: leave out -o");
    }
    return {};
  }
};

void ImportClusterOptions(CLI::App& command, ImportClusterFlags& flags, ListImportOptions& options) {
  constexpr const char* kGroup = "With --from-cluster";
  CLI::Option* read =
      command.add_flag("--from-cluster", flags.read, "The workloads of the cluster (only read)");
  RepeatableOption(command, "-n,--namespace", options.namespaces, "Only this namespace (repeatable)");
  command.add_flag("-A,--all-namespaces", flags.all_namespaces, "All namespaces");
  command.add_option("--configmap", options.config_map,
                     "NAMESPACE/NAME of an existing ConfigMap that gets the list");
  for (const char* name : {"--namespace", "--all-namespaces", "--configmap"}) {
    command.get_option(name)->needs(read)->group(kGroup);
  }
  for (CLI::Option* option : ClusterFlags(command, flags.cluster)) option->needs(read)->group(kGroup);
}

constexpr const char* kImportHelp = R"(
Prints a list of all images in the inputs, each once, with the places that name it. With --marker, the image
name is behind each marker of a line, or elsewhere in its line, or in the next line.

With --from-cluster, the command reads the Deployments, StatefulSets, DaemonSets, CronJobs and Jobs of the
namespaces, and Pods that none of them makes. The comments name the workloads. With --configmap, a ConfigMap
that exists gets the list under the key images.yaml. deploy/examples/workload-list.yaml grants the rights.

Exit code:
  0  printed
  2  bad input, with all errors
  4  the agent or the API server could not be asked

Examples:
  prefetchctl list import -f deploy/ > images.yaml
  crictl images -o json | prefetchctl list import --crictl - --exclude 'registry.k8s.io/*'
  prefetchctl list import --from-cluster -n shop -n ci > images.yaml
  prefetchctl list import --marker '# prefetch' --in Dockerfile ci/ -o txt)";

}  // namespace

Command ListImportCommand(CLI::App& command, Context& context) {
  auto options = std::make_shared<ListImportOptions>();
  auto node = std::make_shared<bool>(false);
  auto cluster = std::make_shared<ImportClusterFlags>();
  FilenameOption(command, options->manifests);
  PodTemplatePathOption(command, options->read.pod_template_paths);
  AllowUnreadOption(command, options->read.allow_unread);
  command.add_option("--list", options->lists, "Lists, also plain text; - is standard input (repeatable)");
  command.add_option("--crictl", options->crictl, "The output of crictl images -o json; - is standard input");
  RepeatableOption(
      command, "--from", options->foreign,
      "A list of another tool, recognised by its kind: ImageCache, PinnedImageSet, a compose file … "
      "(repeatable)");
  command.add_flag("--node", *node, "The list of this node, as its agent reports it");
  AgentOption(command, context);
  ImportClusterOptions(command, *cluster, *options);
  RepeatableOption(command, "--marker", options->markers,
                   "Text that marks image names in files, such as '-image=' (repeatable)");
  command.add_option(
      "--in", options->marked,
      "Files, directories without hidden files, patterns to search for the marker (repeatable)");
  command.get_option("--marker")->needs("--in");
  command.get_option("--in")->needs("--marker");
  RepeatableOption(command, "--exclude", options->exclude,
                   "Exclude images of this pattern, such as 'registry.k8s.io/*' (repeatable)");
  OneOf<list::DraftOutput>(command.add_option("-o,--output", options->output, "Output format [yaml]"));
  command.footer(kImportHelp);
  return [&context, options, node, cluster] {
    bool any = *node || cluster->read || !options->manifests.empty() || !options->lists.empty() ||
               !options->crictl.empty() || !options->foreign.empty() || !options->markers.empty();
    if (!any) {
      return RejectInput(
          {"no input: give -f, --list, --from, --from-cluster, --crictl, --node, or --marker with --in"},
          std::cerr);
    }
    // Every line contains an empty marker.
    if (std::ranges::count(options->markers, "") > 0) {
      return RejectInput({"--marker must not be empty"}, std::cerr);
    }
    if (base::Status good = cluster->Check(*options); !good) return Fail(kBadInput, good.error(), std::cerr);
    const auto import_list = [&](kube::Api* api) {
      if (!*node) return ImportList(context.call, nullptr, api, *options, std::cout, std::cerr);
      auto agent = context.Client();
      if (!agent) return Fail(agent.error(), std::cerr);
      return ImportList(context.call, &*agent, api, *options, std::cout, std::cerr);
    };
    if (!cluster->read) return import_list(nullptr);
    return WithCluster(cluster->cluster, std::cerr, [&](kube::Api& api) { return import_list(&api); });
  };
}

Command ListLockCommand(CLI::App& command, Context& context) {
  auto options = std::make_shared<ListLockOptions>();
  command.add_option("FILE", options->files, "List files, or directories of list files")->required();
  command.add_flag("--check", options->check, "Write nothing, and report the tags that moved since the lock");
  const std::map<std::string, NodeRuntime> runtimes = {{"containerd", NodeRuntime::kContainerd},
                                                       {"cri-o", NodeRuntime::kCrio}};
  OneOf(command.add_option("--runtime", options->runtime, "The nodes' runtime [containerd]"), runtimes);
  CredentialOptions(command, options->credentials);
  command.add_option("--timeout", options->timeout, "Maximum time: 90s, 5m")->capture_default_str();
  command.footer(R"(
Asks the registries for the digest of each tag, and writes all digests beside the list (images.yaml.lock), or
none. The command pulls no image. It uses the credentials that prefetchctl credentials shows, and the proxies of
http_proxy, https_proxy and no_proxy. It asks a registry eight questions at a time and 50 a second, at most.
After a 429 it waits as long as the registry requests.

An image that containerd would not pull is an error. With --runtime cri-o, its digest is written with a warning.

Exit code:
  0  locked; with --check: no tag moved
  1  a tag moved, or a registry denies it or does not have it
  2  bad input
  3  timed out
  4  a registry could not be asked, or only a pull can tell

Examples:
  prefetchctl list lock images.yaml
  prefetchctl list lock --check lists/)");
  return [&context, options] {
    return LockLists(context.call, *options, config::ProcessEnv, std::cout, std::cerr);
  };
}

// The options and examples of `prefetchctl list export`.

namespace {

struct ExportFlags {
  std::string target;  // "kubelet", "openshift", "policy"
  std::string output = "yaml";
  ExportOptions options;
};

void AllowlistFlags(CLI::App& command, ExportFlags& flags) {
  constexpr const char* kGroup = "For kubelet";
  command
      .add_option("--kubelet-version", flags.options.kubelet_version,
                  "Version of the kubelet that will read it, 1.33 or later; default: " +
                      std::string(image::kNewestKnownName))
      ->group(kGroup);
  command
      .add_option("-o,--output", flags.output,
                  "yaml: a drop-in of kubelet's configuration; openshift: a KubeletConfig for the cluster")
      ->check(CLI::IsMember({"yaml", "openshift"}))
      ->capture_default_str()
      ->group(kGroup);
}

void PinnedFlags(CLI::App& command, ExportFlags& flags) {
  constexpr const char* kGroup = "For OpenShift";
  command.add_option("--name", flags.options.name, "Name of the PinnedImageSet")
      ->capture_default_str()
      ->group(kGroup);
  command.add_option("--pool", flags.options.pool, "The MachineConfigPool whose nodes pin the images")
      ->capture_default_str()
      ->group(kGroup);
}

// Returns the first given option that is for another target; empty if there is none. Without this check it
// would have no effect, and the user would not notice.
std::string Misplaced(const CLI::App& command, const std::string& target) {
  const std::map<std::string, std::vector<std::string>> options = {
      {"kubelet", {"--kubelet-version", "--output"}}, {"openshift", {"--name", "--pool"}}};
  for (const auto& [of, names] : options) {
    for (const std::string& option : names) {
      if (of != target && command.count(option) > 0) return option;
    }
  }
  return "";
}

}  // namespace

Command ListExportCommand(CLI::App& command, Context&) {
  auto flags = std::make_shared<ExportFlags>();
  command.add_option("--for", flags->target, "Target of the export")
      ->required()
      ->check(CLI::IsMember({"kubelet", "openshift", "policy"}));
  MultiValueOption(command, "--list", flags->options.lists,
                   "A list file, or a directory of list files (repeatable)")
      ->required();
  AllowlistFlags(command, *flags);
  PinnedFlags(command, *flags);
  command.footer(R"(
For kubelet: prints settings that exempt the images of the list from kubelet's verification
(NeverVerifyAllowlistedImages). Comments in the output explain the effect. From then on, every pod of the node
can use the names of the list without a pull secret.

For OpenShift: prints the list as a PinnedImageSet. CRI-O then keeps the images, and garbage collection skips
them. A PinnedImageSet takes digests only. For tags, the command uses the digests that prefetchctl list lock has
written beside the list.

For policy: prints the ConfigMap of deploy/components/policy, with every spelling of the images. Use it as a patch
in a kustomization, or apply it when the list has changed.

Exit code:
  0  printed
  2  bad input, a name that no pattern of this kubelet matches, or a tag without a digest

Examples:
  prefetchctl list export --for kubelet --list images.yaml > 90-prefetchd-allowlist.conf
  prefetchctl list export --for kubelet --list images.yaml -o openshift | oc apply -f -
  prefetchctl list lock images.yaml && prefetchctl list export --for openshift --list images.yaml
  prefetchctl list export --for policy --list images.yaml | kubectl apply --server-side -f -)");
  return [&command, flags] {
    if (std::string option = Misplaced(command, flags->target); !option.empty()) {
      return RejectInput({option + " cannot be used with --for " + flags->target}, std::cerr);
    }
    if (flags->target == "policy") return ExportPolicy(flags->options.lists, std::cout, std::cerr);
    if (flags->target == "openshift") return ExportPinnedImageSet(flags->options, std::cout, std::cerr);
    if (flags->output == "openshift") flags->options.output = AllowlistOutput::kOpenShift;
    return ExportAllowlist(flags->options, std::cout, std::cerr);
  };
}

}  // namespace prefetch::ctl
