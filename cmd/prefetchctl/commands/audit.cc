// The options and examples of `prefetchctl audit`.
#include "ctl/audit.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "commands/command.h"
#include "commands/fleet_flags.h"
#include "doc/duration.h"
#include "image/name_pattern.h"
#include "status/members.h"

namespace prefetch::ctl {
namespace {

struct AuditFlags {
  AuditOptions options;
  FleetFlags fleet;
  std::string since, output = "text";
};

// A duration before now, or a time.
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
  options.json = flags.output == "json";
  for (const std::string& pattern : options.ignore) {
    if (base::Status good = image::CheckPattern(pattern); !good)
      return Fail(kBadInput, base::InvalidArgument("--ignore: " + good.error().message()));
  }
  if (!flags.since.empty()) {
    auto since = ParseSince(flags.since);
    if (!since) return Fail(kBadInput, since.error());
    options.since = *since;
  }
  if (!options.lists.empty()) return AuditOfPods(options);
  if (flags.fleet.fleet) {
    return WithCluster(flags.fleet, [&](kube::Api& api) { return AuditOfFleet(context.call, api, options); });
  }
  return context.WithAgent(
      [&](const AgentClient& agent) { return AuditOfNode(context.call, agent, options); });
}

}  // namespace

Command AuditCommand(CLI::App& command, Context& context) {
  auto flags = std::make_shared<AuditFlags>();
  AgentOption(command, context);
  FleetOptions(command, flags->fleet);
  CLI::Option* since =
      command.add_option("--since", flags->since, "Only what came since then: 24h, or 2026-08-01T10:00:00Z");
  Repeatable(command, "--ignore", flags->options.ignore,
             "A pattern of images that no list needs to have, such as registry.k8s.io/* (repeatable)");
  CLI::Option* pods = command.add_option(
      "-f,--pods", flags->options.pods_file,
      "Pods saved by kubectl get pods -o json, instead of the cluster's; - is standard input");
  Repeatable(command, "--list", flags->options.lists,
             "Hold the saved pods against these lists; no agent and no cluster is asked (repeatable)");
  command.get_option("--list")->needs(pods)->excludes("--fleet")->excludes("--agent")->excludes(since);
  command.add_option("-o,--output", flags->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command.footer(R"(
Names the images that came to the node, or with --fleet to any node, since its agent started, and that are on
no list: what Never pods would have failed for, without failing any. The agents' own auditIgnore is passed
over, as are images that the runtime's operator has pinned. With the rights for it, --fleet adds the pods that
ask for them, and listed images that kubelets pulled all the same, with the time that it took.

Exit code: 0 clean, 1 findings, 2 bad usage or input, 4 no agent, or not the cluster, could be asked, or none knows
anything yet. Nodes that could not be asked, or know nothing yet, are named in a note.

Examples:
  prefetchctl audit
  prefetchctl audit --fleet --since 24h --ignore 'registry.k8s.io/*'
  prefetchctl audit --fleet -o json | jq -r '.findings[].image'
  kubectl get pods -A -o json | prefetchctl audit -f - --list images.yaml)");
  return [&context, flags] { return RunAudit(context, *flags); };
}

}  // namespace prefetch::ctl
