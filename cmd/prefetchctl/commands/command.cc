#include "commands/command.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>

namespace prefetch::ctl {

std::string Context::NamedAgent() const {
  if (!agent.empty()) return agent;
  const char* variable = std::getenv("PREFETCHD_AGENT");
  return variable == nullptr ? "" : variable;
}

std::string Context::Agent() const {
  const std::string named = NamedAgent();
  return named.empty() ? kDefaultAgent : named;
}

int Context::WithAgent(const std::function<int(const AgentClient&)>& use) {
  auto client = AgentClient::Make(http, Agent());
  return client ? use(*client) : Fail(kBadInput, client.error(), std::cerr);
}

void WarnOfDeprecatedSpelling(const std::string& old_words, const std::string& new_words) {
  std::cerr << "note: prefetchctl " << old_words
            << " is deprecated, and the next release removes it; use prefetchctl " << new_words << "\n";
}

void AgentOption(CLI::App& command, Context& context) {
  command.add_option(
      "--agent", context.agent,
      "The agent: unix:///path or http://host:port; default: PREFETCHD_AGENT of the environment, or " +
          std::string(kDefaultAgent));
}

void Repeatable(CLI::App& command, const std::string& flag, std::vector<std::string>& values,
                const std::string& help) {
  command.add_option(flag, values, help)->type_size(1)->allow_extra_args(false);
}

std::array<CLI::Option*, 2> ClusterFlags(CLI::App& command, ClusterOptions& cluster) {
  return {command.add_option(
              "--kubeconfig", cluster.kubeconfig,
              "The kubeconfig; default: KUBECONFIG, ~/.kube/config, or this pod's service account"),
          command.add_option("--context", cluster.context,
                             "A context of the kubeconfig; default: the current one")};
}

void AllowUnreadOption(CLI::App& command, std::vector<std::string>& kinds) {
  Repeatable(command, "--allow-unread", kinds,
             "Accept objects of this kind whose images are not seen: JobSet, or '*.acme.io' (repeatable)");
}

void Several(CLI::App& command, const std::string& flag, std::vector<std::string>& values,
             const std::string& help) {
  command.add_option(flag, values, help)->type_size(1);
}

base::Status PairImages(const CLI::App& command, const std::string& flag,
                        std::vector<CheckOptions::Image>& images) {
  // CLI11 keeps the values of each option apart. Only parse_order() has the sequence in which images and
  // policies appeared.
  const CLI::Option* image = command.get_option(flag);
  const CLI::Option* policy = command.get_option("--policy");
  std::size_t image_at = 0, policy_at = 0;
  for (const CLI::Option* option : command.parse_order()) {
    if (option == image) images.push_back({image->results().at(image_at++), {}});
    if (option != policy) continue;
    if (images.empty() || images.back().policy) {
      return base::InvalidArgument("--policy without an " + flag +
                                   " before it: put each --policy after its " + flag);
    }
    images.back().policy = policy->results().at(policy_at++);
  }
  return {};
}

}  // namespace prefetch::ctl
