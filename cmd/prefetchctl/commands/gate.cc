// The options and examples of the commands that gate CI and pods: check, wait and lint.
#include <unistd.h>

#include <iostream>

#include "commands/command.h"
#include "ctl/terminal.h"
#include "image/reference.h"
#include "screen/lint_report.h"

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

namespace {

struct WaitFlags {
  std::vector<std::string> lists;
  std::string hash, policy, timeout = "10m", min_ready = "100%";
  bool fail_fast = false;
  FleetFlags fleet;
};

WaitOptions ReadFlags(const WaitFlags& flags, Mistakes& mistakes) {
  WaitOptions options{.query = flags.fleet.query,
                      .demand = {.hash = flags.hash},
                      .fail_fast = flags.fail_fast,
                      .timeout = ParseTimeout(flags.timeout, mistakes)};
  if (!flags.policy.empty()) options.demand.policy = base::EnumNamed<image::PullPolicy>(flags.policy);
  if (flags.lists.empty()) return options;
  options.demand.list = ReadListFiles(flags.lists, mistakes).list;
  return options;
}

int RunWait(Context& context, const WaitFlags& flags) {
  Mistakes mistakes;
  WaitOptions options = ReadFlags(flags, mistakes);
  if (!mistakes.empty()) return RejectInput(mistakes, std::cerr);
  // A list without entries is met immediately. The warning tells a user who meant another file.
  if (const auto& list = options.demand.list) {
    for (const std::string& warning : list->warnings) std::cerr << "warning: " << warning << "\n";
  }
  if (!flags.fleet.fleet) {
    if (context.NamedAgent().empty()) options.folder = kDefaultAgentFolder;
    auto agent = context.Client();
    if (!agent) return Fail(agent.error(), std::cerr);
    return Wait(context.call, *agent, options, std::cout, std::cerr);
  }
  auto target = screen::ParseFleetTarget(flags.min_ready);
  if (!target) {
    return Fail(kBadInput,
                base::InvalidArgument("--min-ready must be a number of nodes from 1 on, or 1% to "
                                      "100%, not " +
                                      flags.min_ready),
                std::cerr);
  }
  options.target = *target;
  return WithCluster(flags.fleet.cluster, std::cerr, [&](kube::Api& api) {
    return FleetWait(context.call, api, options, std::cout, std::cerr);
  });
}

}  // namespace

Command WaitCommand(CLI::App& command, Context& context) {
  auto flags = std::make_shared<WaitFlags>();
  AgentOption(command, context);
  MultiValueOption(command, "--list", flags->lists,
                   "Wait until each entry of these lists is in force with at least its demands, and ready "
                   "(repeatable)");
  command.add_option("--hash", flags->hash, "Wait until the list with this hash is in force, and ready")
      ->excludes("--list")
      ->check(
          [](const std::string& value) {
            return image::IsDigest(value) ? "" : "must be a whole hash, as list print -o hash prints it";
          },
          "", "");
  command.add_option("--policy", flags->policy, "Wait for readiness for pods with this imagePullPolicy")
      ->check(CLI::IsMember({"Never", "IfNotPresent", "Always"}));
  command.add_option("--timeout", flags->timeout, "Maximum time: 90s, 10m, 1h")->capture_default_str();
  command.add_flag("--fail-fast", flags->fail_fast,
                   "End at the first image that keeps failing (with --fleet: once --min-ready cannot be "
                   "reached)");
  FleetOptions(command, flags->fleet);
  UnreadyOption(command, flags->fleet);
  command
      .add_option("--min-ready", flags->min_ready, "Required number of ready nodes, or a share such as 95%")
      ->capture_default_str()
      ->needs("--fleet")
      ->group(kFleetGroup);
  command.footer(R"(
Without --fail-fast, the command also waits for images that keep failing: a missing tag may be pushed.
An image outside its pullWindow has not failed, also with --fail-fast. If the time ends first, the last words
name the time until the window opens.
Without --agent, it ends at once on a machine that has never had an agent (no /run/prefetchd).

With --fleet, the command asks ready nodes again every 30 s, and the others every 2 s. It waits for nodes without
an agent, and for agents that cannot be reached. If you ask for a list, hash or policy, the readiness of such an
agent's pod does not count: the pod may have another list. A fleet without nodes is never ready.

It does not wait for nodes that are dead (kubelet does not report, out of service). Nor does it wait for nodes that
leave: cordoned, being deleted, or tainted by Karpenter or the Cluster Autoscaler. It names both at the end.
--include-unready waits for them, too.

Exit code:
  0  ready
  1  an image keeps failing (with --fail-fast)
  2  bad usage, or an invalid list
  3  timed out
  4  the agent or the cluster could not be asked

Examples:
  prefetchctl wait --timeout 10m
  prefetchctl wait --list images.yaml    even if the agent has not seen the new list yet
  prefetchctl wait --list images.yaml --fail-fast
  prefetchctl wait --fleet --list images.yaml --timeout 30m
  prefetchctl wait --fleet --nodes pool=ci --min-ready 95%)");
  return [&context, flags] { return RunWait(context, *flags); };
}

Command LintCommand(CLI::App& command, Context& context) {
  auto options = std::make_shared<LintOptions>();
  auto rules = std::make_shared<bool>(false);
  FilenameOption(command, options->files);
  command.add_option("--list", options->lists,
                     "List files, or directories of list files; - is standard input (repeatable)");
  command.add_option("--select", options->select, "Only these rules: ids or their beginnings, PF101,PF2");
  command.add_option("--ignore", options->ignore, "Skip these rules");
  command.add_flag("--rules", *rules, "Print all rules, and the remedy for each");
  ManifestFlagOptions(command, options->manifests);
  OneOf<LintOutput>(command.add_option("-o,--output", options->output, "Output format [text]"));
  command.footer(R"(
Finds images on no list, unused entries, and pull policies that contact the registry for present images. The
command reads manifests and lists only. It asks no cluster, registry or agent. Pipe rendered templates to
standard input.

A comment switches a rule off where it stands:  # prefetchctl: ignore=PF201 the mirror is on this node

Exit code:
  0  clean; notes do not count
  1  warnings or errors
  2  bad input, with all errors

Examples:
  prefetchctl lint -f deploy/ --list images.yaml
  helm template ci/ | prefetchctl lint -f - --list images.yaml --ignore PF102
  prefetchctl lint -f 'jobs/*.yaml' --list lists/ --select PF1 -o sarif > lint.sarif
  prefetchctl lint --rules)");
  return [&context, options, rules] {
    if (*rules) {
      std::cout << screen::LintRulesText(StdoutTerminal().width);
      return static_cast<int>(kOk);
    }
    if (options->files.empty() || options->lists.empty()) {
      return RejectInput({"lint needs manifests (-f) and lists (--list)"}, std::cerr);
    }
    const Terminal terminal = StdoutTerminal();
    options->color = terminal.color;
    // 0 means no wrapping: other programs read the lines of a pipe.
    options->width = terminal.interactive ? terminal.width : 0;
    return Lint(context.call, *options, std::cout, std::cerr);
  };
}

}  // namespace prefetch::ctl
