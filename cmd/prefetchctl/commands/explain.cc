// The options and examples of `prefetchctl explain`.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "commands/command.h"
#include "ctl/explain.h"
#include "ctl/terminal.h"

namespace prefetch::ctl {

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

}  // namespace prefetch::ctl
