#include "ctl/status.h"

#include <ostream>
#include <utility>

#include "base/call.h"
#include "base/clock.h"
#include "ctl/agent_client.h"
#include "ctl/exit_code.h"
#include "ctl/terminal.h"
#include "doc/reprint.h"
#include "report/page.h"
#include "screen/fleet.h"
#include "screen/status_table.h"

namespace prefetch::ctl {
namespace {

constexpr std::chrono::seconds kRefresh{1};

// A page about many nodes, of which there is one.
std::string PageOf(const screen::StatusDocument& document) {
  report::Gathering gathering;
  gathering.Add(document.node, document);
  screen::Fleet fleet = screen::GatherFleet({screen::DigestStatus(document, document.node)});
  return report::Page(std::move(gathering).Take(std::move(fleet)), base::SystemClock().Wall());
}

// The screen of one request, as text.
base::Result<std::string> Screen(const base::Call& call, const AgentClient& agent,
                                 const StatusOptions& options, const Terminal& terminal) {
  auto json = agent.StatusJson(call);
  if (!json) return json;
  // Whatever else answers there is not passed on as if it were an agent's word.
  auto document = screen::ParseStatusDocument(*json);
  if (!document) return std::move(document).error().Wrap("the agent's answer");
  if (options.output == "json") return doc::IndentedJson(*json);
  if (options.output == "yaml") return doc::AsYaml(*json);
  if (options.output == "html") return PageOf(*document);
  return screen::StatusTable(
      *document, {.width = terminal.width, .wide = options.output == "wide", .color = terminal.color});
}

}  // namespace

int Results(const base::Call& call, const AgentClient& agent, screen::ResultsFormat format, std::ostream& out,
            std::ostream& err) {
  auto status = agent.Status(call);
  if (!status) return Fail(kUnreachable, status.error(), err);
  out << screen::ResultsHead(format) << screen::ResultRows(*status, status->node, format) << std::flush;
  return kOk;
}

int Status(const base::Call& call, const AgentClient& agent, const StatusOptions& options, std::ostream& out,
           std::ostream& err) {
  if (options.watch) {
    return WatchScreen(call, kRefresh, out, [&](const Terminal& terminal) {
      auto screen = Screen(call, agent, options, terminal);
      return screen ? *std::move(screen)
                    : screen.error().message() + "\n";  // an agent that restarts comes back
    });
  }
  auto screen = Screen(call, agent, options, StdoutTerminal());
  if (call.Stopped()) return kInterrupted;
  if (!screen) return Fail(kUnreachable, screen.error(), err);
  out << *screen << std::flush;
  return kOk;
}

}  // namespace prefetch::ctl
