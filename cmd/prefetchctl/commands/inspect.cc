// The options and examples of the commands that look at a node, an image or a fleet.
#include <iostream>

#include "commands/command.h"
#include "ctl/terminal.h"
#include "doc/duration.h"
#include "image/kubelet_version.h"
#include "image/reference.h"
#include "status/rows.h"

namespace prefetch::ctl {

namespace {

// Runs a command for the agents of a fleet, or for one agent.
template <typename OfFleet, typename OfNode>
int FleetOrNode(Context& context, const FleetFlags& flags, OfFleet of_fleet, OfNode of_node) {
  if (flags.fleet) return WithCluster(flags.cluster, std::cerr, of_fleet);
  auto agent = context.Client();
  return agent ? of_node(*agent) : Fail(agent.error(), std::cerr);
}

struct StatusFlags {
  StatusOptions options;
  FleetFlags fleet;
  std::string results;
};

int RunStatus(Context& context, const StatusFlags& flags) {
  StatusOptions options = flags.options;
  options.query = flags.fleet.query;
  if (!flags.results.empty())
    options.results = flags.results == "csv" ? screen::ResultsFormat::kCsv : screen::ResultsFormat::kJson;
  // CLI11 can exclude options, but not one of their values.
  if (options.watch && options.output == "html") {
    return RejectInput({"--watch cannot draw a page again and again: leave it out, or choose another output"},
                       std::cerr);
  }
  return FleetOrNode(
      context, flags.fleet,
      [&](kube::Api& api) { return FleetStatus(context.call, api, options, std::cout, std::cerr); },
      [&](AgentClient& agent) { return Status(context.call, agent, options, std::cout, std::cerr); });
}

}  // namespace

Command StatusCommand(CLI::App& command, Context& context) {
  auto flags = std::make_shared<StatusFlags>();
  AgentOption(command, context);
  CLI::Option* output =
      command.add_option("-o,--output", flags->options.output, "table, wide, json, yaml or html")
          ->check(CLI::IsMember({"table", "wide", "json", "yaml", "html"}))
          ->capture_default_str();
  CLI::Option* watch = command.add_flag("-w,--watch", flags->options.watch,
                                        "Show the status again after each change, until interrupted");
  FleetOptions(command, flags->fleet);
  UnreadyOption(command, flags->fleet);
  CLI::Option* fleet = command.get_option("--fleet");
  CLI::Option* not_ready =
      command.add_flag("--not-ready", flags->options.not_ready, "Also name the nodes that are not ready")
          ->needs(fleet)
          ->group(kFleetGroup);
  command
      .add_option("--results", flags->results,
                  "Print a row for each image and node, with sizes, attempts and durations: csv, or json "
                  "(one object per line)")
      ->check(CLI::IsMember({"json", "csv"}))
      ->excludes(output)
      ->excludes(watch)
      ->excludes(not_ready);
  command.footer(R"(
-o html prints a report as one page for a browser. The page needs no network.

With --fleet, the command asks every agent through the API server (get pods/proxy), 32 at a time. If an agent
cannot be reached, its pod's readiness and its node's label count. The node is shown without detail, and never as
failed. Nodes that are dead or leaving (see wait --help) are counted apart.

Exit code:
  0  shown
  2  bad usage
  4  the agent or the cluster could not be asked

Examples:
  prefetchctl status                 ready images, and obstacles
  prefetchctl status -o wide         every image, with full names and ids
  prefetchctl status -o json | jq '.images[] | select(.ready | not)'
  prefetchctl status --fleet --not-ready
  prefetchctl status --fleet --watch
  prefetchctl status --fleet --nodes pool=ci,kubernetes.io/os=linux -o json | jq .causes
  prefetchctl status --fleet -o html > report.html
  prefetchctl status --fleet --results csv > pulls.csv)");
  return [&context, flags] { return RunStatus(context, *flags); };
}

Command ExplainCommand(CLI::App& command, Context& context) {
  auto options = std::make_shared<ExplainOptions>();
  AgentOption(command, context);
  command.add_option("IMAGE", options->image, "The image as pods name it")->required();
  command.add_flag("--show-identities", options->query.identities,
                   "Name the secrets and service accounts that kubelet has recorded");
  command.add_flag("!--no-credentials", options->query.credentials,
                   "Skip the credential lookup, which may run plugins");
  auto timeout = std::make_shared<std::string>("90s");
  command.add_option("--timeout", *timeout, "Maximum wait for the answer")->capture_default_str();
  TextOrJsonOption(command, options->json);
  command.footer(R"(
Explains an image on this node, listed or not, in kubelet's own decision order: is the image present, has kubelet
recorded it, would a pod start, by which rule. It ends with advice. The output names credentials, and never
contains them.

Exit code:
  0  explained, also for an absent image
  2  bad input
  4  the agent could not be asked

Examples:
  prefetchctl explain quay.io/acme/app:v1
  prefetchctl explain quay.io/acme/app:v1 -o json | jq .reasoning.Never)");
  return [&context, options, timeout] {
    Mistakes mistakes;
    options->timeout = ParseTimeout(*timeout, mistakes);
    if (!mistakes.empty()) return RejectInput(mistakes, std::cerr);
    options->width = StdoutTerminal().width;
    auto agent = context.Client();
    if (!agent) return Fail(agent.error(), std::cerr);
    return Explain(context.call, *agent, *options, std::cout, std::cerr);
  };
}

Command RetryCommand(CLI::App& command, Context& context) {
  auto options = std::make_shared<RetryOptions>();
  auto fleet = std::make_shared<FleetFlags>();
  AgentOption(command, context);
  FleetOptions(command, *fleet);
  command.add_option("IMAGE", options->images, "Images of the list; default: all that wait");
  TextOrJsonOption(command, options->json)->excludes("--fleet");
  command.footer(R"(
Has the agent try images at once that wait for their next attempt, for example after you pushed a missing tag. The
back-off is skipped once; prefetchctl status shows the request, and the result. A registry that named a time
(Retry-After) is left alone until then. An agent takes three requests at once, and then one a minute.

With --fleet, the agents of all nodes are asked. That needs component fleet, and the rights of
deploy/examples/fleet-operator.yaml.

Exit code:
  0  requested, or nothing to retry
  1  an image is not on the list, or with --fleet, an agent did not take the request
  2  bad input
  4  no agent took the request

Examples:
  prefetchctl retry
  prefetchctl retry quay.io/acme/app:v1
  kubectl prefetch retry --fleet quay.io/acme/app:v1)");
  return [&context, options, fleet] {
    return FleetOrNode(
        context, *fleet,
        [&](kube::Api& api) {
          return RetryFleet(context.call, api, fleet->query, options->images, std::cout, std::cerr);
        },
        [&](AgentClient& agent) { return Retry(context.call, agent, *options, std::cout, std::cerr); });
  };
}

constexpr std::chrono::seconds kShortestInterval{10};

Command WatchCommand(CLI::App& command, Context& context) {
  auto options = std::make_shared<WatchOptions>();
  auto fleet = std::make_shared<FleetFlags>();
  FleetOptions(command, *fleet);
  command.get_option("--fleet")->required();
  command.add_option("--webhook-file", options->webhook_file, "A file with the URL that gets the news")
      ->required();
  command.add_option("--secret-file", options->secret_file,
                     "A file with a key: each request has its HMAC-SHA256 in X-Prefetchd-Signature-256");
  auto interval = std::make_shared<std::string>("60s");
  command.add_option("--interval", *interval, "Time between two looks, and between two requests")
      ->capture_default_str();
  command.add_flag("--once", options->once, "Poll once, report all failing nodes, and exit");
  command.footer(R"(
Looks at all nodes each interval, and sends one JSON object to the webhook when nodes begin to fail or are ready
again. Nodes that still pull, are dead or leave are no news. News that the webhook does not take (anything but 2xx)
is sent again with that of the next look. Slack's incoming webhooks show the member text. The proxies of the
environment count (HTTPS_PROXY, NO_PROXY).

It needs the rights of deploy/examples/fleet-viewer.yaml. Without component fleet, the news has no messages.

Exit code:
  0    with --once: no news, or the webhook took them
  1    the webhook rejects its URL; with --once: it did not take the news
  2    bad input
  4    the cluster refuses the rights or the credentials; with --once: it could not be asked
  130  stopped

Examples:
  prefetchctl watch --fleet --webhook-file slack-url.txt
  prefetchctl watch --fleet --webhook-file url.txt --secret-file key.txt --interval 5m --nodes pool=ci)");
  return [&context, options, fleet, interval] {
    auto parsed = doc::ParseDuration(*interval);
    if (!parsed || *parsed < kShortestInterval) {
      return RejectInput({"--interval must be a duration of at least 10s"}, std::cerr);
    }
    options->interval = *parsed;
    return WithCluster(fleet->cluster, std::cerr, [&](kube::Api& api) {
      options->query = fleet->query;
      return WatchFleet(context.call, api, config::ProcessEnv, *options, std::cout, std::cerr);
    });
  };
}

namespace {

struct AuditFlags {
  AuditOptions options;
  FleetFlags fleet;
  std::string since;
};

// Parses a time, or a duration before the current time.
base::Result<base::WallTime> ParseSince(const std::string& text) {
  if (auto time = status::ParseTime(text)) return *time;
  auto ago = doc::ParseDuration(text);
  if (ago && ago->count() >= 0) {
    return base::SystemClock().Wall() - std::chrono::duration_cast<base::WallTime::duration>(*ago);
  }
  return base::InvalidArgument(
      "--since must be a duration such as 24h, or a time such as "
      "2026-08-01T10:00:00Z, not " +
      text);
}

int RunAudit(Context& context, const AuditFlags& flags) {
  AuditOptions options = flags.options;
  options.query = flags.fleet.query;
  // All options are checked before any agent is asked.
  for (const std::string& pattern : options.ignore) {
    if (base::Status good = image::CheckPattern(pattern); !good)
      return Fail(kBadInput, base::InvalidArgument("--ignore: " + good.error().message()), std::cerr);
  }
  if (!flags.since.empty()) {
    auto since = ParseSince(flags.since);
    if (!since) return Fail(kBadInput, since.error(), std::cerr);
    options.since = *since;
  }
  if (!options.lists.empty()) return AuditOfPods(options, std::cout, std::cerr);
  return FleetOrNode(
      context, flags.fleet,
      [&](kube::Api& api) { return AuditOfFleet(context.call, api, options, std::cout, std::cerr); },
      [&](AgentClient& agent) { return AuditOfNode(context.call, agent, options, std::cout, std::cerr); });
}

}  // namespace

Command AuditCommand(CLI::App& command, Context& context) {
  auto flags = std::make_shared<AuditFlags>();
  AgentOption(command, context);
  FleetOptions(command, flags->fleet);
  CLI::Option* since = command.add_option("--since", flags->since,
                                          "Only images that came since then: 24h, or 2026-08-01T10:00:00Z");
  RepeatableOption(command, "--ignore", flags->options.ignore,
                   "Ignore images of this pattern, such as registry.k8s.io/* (repeatable)");
  CLI::Option* pods = command.add_option(
      "-f,--pods", flags->options.pods_file,
      "Pods saved by kubectl get pods -o json, to name pods; with --list, instead of agents; "
      "- is standard input");
  MultiValueOption(command, "--list", flags->options.lists,
                   "Compare the saved pods with these lists (repeatable)")
      ->needs(pods)
      ->excludes("--fleet")
      ->excludes("--agent")
      ->excludes(since);
  TextOrJsonOption(command, flags->options.json);
  command.footer(R"(
Finds images on no list that came to the node since its agent started; with --fleet, to any node. Pods with
imagePullPolicy Never would fail on these. The audit skips images that match the agents' own auditIgnore, and
images that the runtime's operator has pinned.

With the rights of deploy/examples/audit-viewer.yaml, --fleet also names the pods that use each image. It also
lists images of the list that kubelets pulled nevertheless, with the longest time of such a pull.

Exit code:
  0  clean
  1  findings
  2  bad usage or input
  4  no agent could be asked, or none has data yet; or the cluster could not be asked

A note names each node that could not be asked, or has no data yet.

Examples:
  prefetchctl audit
  prefetchctl audit --fleet --since 24h --ignore 'registry.k8s.io/*'
  prefetchctl audit --fleet -o json | jq -r '.findings[].image'
  kubectl get pods -A -o json | prefetchctl audit -f - --list images.yaml)");
  return [&context, flags] { return RunAudit(context, *flags); };
}

namespace {

// Adds the flag of one of prefetchd's settings. Errors of the configuration name this flag as the source.
template <typename T>
CLI::Option* Option(CLI::App& command, config::RawConfig& flags, std::string_view name,
                    const std::string& help) {
  const std::string flag = config::FlagOf(config::SettingNamed(name));
  auto set = [&flags, name, flag](const T& value) {
    flags.given[name] = config::SourcedValue<T>{value, flag};
  };
  return command.add_option_function<T>(flag, set, help);
}

}  // namespace

void CredentialOptions(CLI::App& command, config::RawConfig& flags) {
  Option<std::string>(command, flags, "image-credential-provider-config",
                      "Same as kubelet's flag: a file or a directory");
  Option<std::string>(command, flags, "image-credential-provider-bin-dir",
                      "Same as kubelet's flag: the directory of the plugins");
  Option<std::vector<std::string>>(command, flags, "docker-config",
                                   "A docker config file; default: kubelet's search paths (repeatable)")
      ->type_size(1)
      ->allow_extra_args(false);
  Option<std::string>(command, flags, "kubelet-version",
                      "Version of the kubelet whose rules apply, 1.31 or later");
  Option<std::string>(command, flags, "config",
                      "A file of kind AgentConfiguration: pullSecrets, providerEnvironment");
}

constexpr const char* kCredentialsHelp = R"(
Prints the credentials that this node's kubelet would try for an image, in order and without secrets. A pull
tries the next one only after a refusal.

On a node with an agent, the agent looks them up, with its own settings. With any of the settings below, and
without an agent, the command does, and runs credential provider plugins.

On a node with CRI-O (/etc/crio) it also prints what CRI-O sends to each place that registries.conf names: these
credentials, or a login of its own global_auth_file.

Exit code:
  0  every image has a credential; with --check: the configuration is valid
  1  at least one image has none, and is pulled anonymously
  2  bad input; with --check: the configuration is invalid, and all errors are printed
  4  the agent could not be asked

Examples:
  prefetchctl credentials quay.io/acme/app:v1
  prefetchctl credentials -o json 1234.dkr.ecr.eu-west-1.amazonaws.com/app:v1 \
      --image-credential-provider-config /etc/kubernetes/credential-providers.yaml \
      --image-credential-provider-bin-dir /usr/libexec/kubernetes/plugins
  prefetchctl credentials --config agent.yaml --source team.yaml quay.io/acme/app:v1
  prefetchctl credentials --check --image-credential-provider-config providers.yaml)";

Command CredentialsCommand(CLI::App& command, Context& context) {
  auto options = std::make_shared<CredentialsOptions>();
  config::RawConfig& flags = options->flags;
  command.add_option("IMAGE", options->images, "Images to find credentials for");
  AgentOption(command, context);
  CredentialOptions(command, flags);
  RepeatableOption(
      command, "--source", options->sources,
      "Look up as for entries of this list source; pull secrets may be limited to some (repeatable)");
  command.add_flag("--check", options->check, "Only validate the configuration, and run no plugin");
  TextOrJsonOption(command, options->json);
  command.footer(kCredentialsHelp);
  return [&context, options]() -> int {
    if (options->check) return CheckCredentials(*options, config::ProcessEnv, std::cout, std::cerr);
    // The agent knows the settings of its node. Any setting on the command line asks for an answer that the
    // agent cannot give.
    if (options->flags.given.empty() && options->sources.empty()) {
      auto agent = context.Client();
      if (!agent) return Fail(agent.error(), std::cerr);
      auto exit_code =
          FetchAgentCredentials(context.call, *agent, *options, config::ProcessEnv, std::cout, std::cerr);
      // Without an answer, no agent runs here. The command then looks up the credentials itself, unless the
      // user named an agent.
      if (exit_code) return *exit_code;
      if (!context.agent.empty()) return kUnreachable;
    }
    return FindCredentials(context.call, *options, config::ProcessEnv, std::cout, std::cerr);
  };
}

Command VerdictCommand(CLI::App& command, Context&) {
  auto options = std::make_shared<VerdictOptions>();
  command.add_option("--image", options->image, "The image, exactly as the pod names it")->required();
  command.add_option("--image-id", options->image_id, "The runtime's id of the image; empty: it is absent")
      ->required();
  command.add_option("--kubelet-root", options->kubelet_root,
                     "kubelet's --root-dir; default: " + std::string(image::kDefaultKubeletRoot));
  auto* config =
      command.add_option("--kubelet-config", options->kubelet_config, "kubelet's KubeletConfiguration file");
  auto* verification = command.add_option("--verification", options->verification,
                                          "kubelet's imagePullCredentialsVerificationPolicy");
  verification->excludes(config);
  RepeatableOption(command, "--allowlist", options->allowlist,
                   "A pattern of kubelet's preloadedImagesVerificationAllowlist (repeatable)")
      ->needs(verification);
  command.add_option("--kubelet-version", options->kubelet_version, "kubelet's version, 1.31 or later");
  const std::string newest(image::kNewestKnownName);
  command.add_option("--kubelet-rules", options->kubelet_rules,
                     "Rules to apply if kubelet is newer than " + newest + ", such as " + newest);
  command.add_option("--pull-policy", options->pull_policy, "Only for this imagePullPolicy")
      ->check(CLI::IsMember({"Never", "IfNotPresent", "Always"}));
  RepeatableOption(command, "--pod-secret", options->pod_secrets,
                   "A pull secret of the pod: NAMESPACE/NAME/UID/HASH, HASH may be empty (repeatable)");
  command.add_option("--pod-service-account", options->pod_service_account,
                     "The pod's service account: NAMESPACE/NAME/UID");
  TextOrJsonOption(command, options->json);
  command.footer(R"(
Prints what kubelet would do with a pod that starts now, from kubelet's files alone: Starts, Pulls, Refused or
Unknown, and the reason. Without --pod-secret and --pod-service-account, the verdict is for pods that have
neither. The command does not guess unknown settings of kubelet. If one matters, the verdict is Unknown.

Exit code: 0 computed, 2 bad input, or an allowlist that kubelet would reject.

Examples:
  prefetchctl verdict --image quay.io/acme/app:v1 --image-id sha256:90f7... \
      --kubelet-config /var/lib/kubelet/config.yaml --kubelet-version 1.36
  prefetchctl verdict --image quay.io/acme/app:v1 --image-id sha256:90f7... --pull-policy Never \
      --kubelet-version 1.36 --verification AlwaysVerify --pod-secret team/pull/9a41.../ -o json)");
  return [options] { return PrintVerdicts(*options, std::cout, std::cerr); };
}

}  // namespace prefetch::ctl
