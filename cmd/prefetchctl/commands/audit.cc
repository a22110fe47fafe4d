// The options and examples of `prefetchctl audit`.
#include "ctl/audit.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "commands/command.h"
#include "doc/duration.h"
#include "image/reference.h"
#include "status/rows.h"

namespace prefetch::ctl {
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
  if (flags.fleet.fleet) {
    return WithCluster(flags.fleet.cluster, std::cerr, [&](kube::Api& api) {
      return AuditOfFleet(context.call, api, options, std::cout, std::cerr);
    });
  }
  auto agent = context.Client();
  if (!agent) return Fail(agent.error(), std::cerr);
  return AuditOfNode(context.call, *agent, options, std::cout, std::cerr);
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
  CLI::Option* pods =
      command.add_option("-f,--pods", flags->options.pods_file,
                         "Pods saved by kubectl get pods -o json, instead of agents; - is standard input");
  MultiValueOption(command, "--list", flags->options.lists,
                   "Compare the saved pods with these lists, without agent or cluster (repeatable)")
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

}  // namespace prefetch::ctl
