#include "status.h"

#include <iostream>

#include "exit_code.h"
#include "pause.h"
#include "report/document_print.h"
#include "report/status_table.h"
#include "terminal.h"

namespace prefetch::ctl {
namespace {

constexpr std::chrono::seconds kRefresh{1};

// What is shown once, as text.
base::Result<std::string> Screen(const base::Call& call, const AgentClient& agent,
                                 const StatusOptions& options, const Terminal& terminal) {
  auto json = agent.StatusJson(call);
  if (!json) return json;
  if (options.output == "json") return report::IndentedJson(*json);
  if (options.output == "yaml") return report::AsYaml(*json);
  auto document = report::ParseStatusDocument(*json);
  if (!document) return std::move(document).error();
  return report::StatusTable(
      *document, {.width = terminal.width, .wide = options.output == "wide", .color = terminal.color});
}

}  // namespace

int Results(const base::Call& call, const AgentClient& agent, report::ResultsFormat format) {
  auto status = agent.Status(call);
  if (!status) return Fail(kUnreachable, status.error());
  std::cout << report::ResultsHead(format) << report::ResultRows(*status, status->node, format) << std::flush;
  return kOk;
}

int Status(const base::Call& call, const AgentClient& agent, const StatusOptions& options) {
  Terminal terminal = StdoutTerminal();
  std::string shown;
  do {
    auto screen = Screen(call, agent, options, terminal);
    if (call.Stopped()) return options.watch ? kOk : kInterrupted;
    if (!screen) {
      if (!options.watch) return Fail(kUnreachable, screen.error());
      screen = screen.error().message() + "\n";  // an agent that restarts comes back
    }
    if (!options.watch) {
      std::cout << *screen << std::flush;
      break;
    }
    // A terminal is drawn anew; elsewhere only what has changed is worth a line.
    if (terminal.interactive) {
      std::cout << "\x1b[H\x1b[2J\x1b[3J" << *screen << std::flush;
    } else if (*screen != shown) {
      std::cout << *screen << std::flush;
    }
    shown = *std::move(screen);
  } while (!StdoutReaderIsGone() && Pause(call, kRefresh));
  return kOk;
}

}  // namespace prefetch::ctl
