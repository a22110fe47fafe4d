// The options, the examples and the work of `prefetchctl version`.
#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "commands/command.h"

namespace prefetch::ctl {

Command VersionCommand(CLI::App& command, Context& context) {
  AgentOption(command, context);
  command.footer(R"(
Exit code:
  0  both are of one release
  1  they are not
  2  bad input
  4  the agent could not be asked

Examples:
  prefetchctl version)");
  return [&context]() -> int {
    std::cout << "prefetchctl " PREFETCH_VERSION "\n";
    auto agent = context.Client();
    if (!agent) return Fail(agent.error(), std::cerr);
    auto document = agent->Status(context.call);
    if (!document) return Fail(document.error(), std::cerr);
    const std::string& version = document->agent_version;
    std::cout << "agent " << (version.empty() ? "unknown" : version) << "\n";
    return version == PREFETCH_VERSION ? kOk : kNegative;
  };
}

}  // namespace prefetch::ctl
