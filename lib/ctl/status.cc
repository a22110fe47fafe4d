#include "ctl/status.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "base/call.h"
#include "base/clock.h"
#include "base/standard_output.h"
#include "base/text.h"
#include "ctl/agent_client.h"
#include "ctl/exit_code.h"
#include "ctl/terminal.h"
#include "doc/reprint.h"
#include "report/page.h"
#include "screen/fleet.h"
#include "screen/status_table.h"
#include "screen/text_layout.h"

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

// As much of it as the terminal can show: the most important lines stand first, and must not scroll away.
std::string Fit(std::string_view screen, const Terminal& terminal) {
  if (screen.ends_with('\n')) screen.remove_suffix(1);
  std::size_t room = std::max<std::size_t>(terminal.height, 3) - 2;  // of the last line and the cursor's
  std::string text;
  std::vector<std::string_view> lines = base::Split(screen, '\n');
  for (std::size_t i = 0; i < lines.size(); i++) {
    std::size_t width = screen::DisplayWidth(lines[i]);
    std::size_t rows = std::max<std::size_t>(1, (width + terminal.width - 1) / terminal.width);
    bool fits = rows <= room || (i + 1 == lines.size() && rows <= room + 1);
    if (!fits) {
      return text + "… " + std::to_string(lines.size() - i) + " more lines (without --watch all are shown)\n";
    }
    room -= std::min(rows, room);
    text.append(lines[i]).append("\n");
  }
  return text;
}

// Over what was there, which goes line by line, so that nothing flickers; what the terminal has scrolled away
// before stays.
std::string DrawnAnew(const std::string& screen) {
  return "\x1b[H" + base::ReplaceAll(screen, "\n", "\x1b[K\n") + "\x1b[J";
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
  Terminal terminal = StdoutTerminal();
  std::string shown;
  if (options.watch && terminal.interactive) out << "\x1b[2J";
  do {
    if (options.watch) terminal = StdoutTerminal();  // its size may have changed
    auto screen = Screen(call, agent, options, terminal);
    if (call.Stopped()) return options.watch ? kOk : kInterrupted;
    if (!screen) {
      if (!options.watch) return Fail(kUnreachable, screen.error(), err);
      screen = screen.error().message() + "\n";  // an agent that restarts comes back
    }
    if (!options.watch) {
      out << *screen << std::flush;
      break;
    }
    // A terminal is drawn anew; elsewhere only changes are worth a line.
    if (terminal.interactive) {
      out << DrawnAnew(Fit(*screen, terminal)) << std::flush;
    } else if (*screen != shown) {
      out << *screen << std::flush;
    }
    shown = *std::move(screen);
  } while (!base::StdoutReaderIsGone() && base::Pause(call, kRefresh));
  return kOk;
}

}  // namespace prefetch::ctl
