#include "ctl/wait.h"

#include <optional>
#include <ostream>
#include <string>

#include "base/call.h"
#include "ctl/agent_client.h"
#include "ctl/exit_code.h"
#include "ctl/terminal.h"
#include "screen/wait_view.h"

namespace prefetch::ctl {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{250};
// An agent reads a list file at most 60 ms after a change (list/watcher.h). A list that was edited just
// before must count: an answer that would end the wait is asked for once more after this time.
constexpr std::chrono::milliseconds kListIsRead{200};
constexpr std::size_t kNodeDetails = 10;  // lines below the first, on a terminal

// How it ends now, if it does. A failure for good can still heal: a tag that is missing may be pushed
// meanwhile.
std::optional<screen::WaitEnd> EndOf(const screen::StatusDocument& document, bool fail_fast) {
  if (document.ready) return screen::WaitEnd::kReady;
  if (fail_fast && screen::AnyFailedPermanently(document)) return screen::WaitEnd::kFailedFast;
  return std::nullopt;
}

int CodeOf(screen::WaitEnd end) {
  if (end == screen::WaitEnd::kReady) return kOk;
  return end == screen::WaitEnd::kTimedOut ? kTimedOut : kNo;
}

}  // namespace

int Wait(const base::Call& call, const AgentClient& agent, const WaitOptions& options, std::ostream& out,
         std::ostream& err) {
  Terminal terminal = StdoutTerminal();
  Progress progress(out, terminal);
  auto started = steady_clock::now();
  base::Call limited = call.Within(options.timeout);
  std::optional<screen::StatusDocument> newest;
  std::optional<base::Error> trouble;
  const auto waited = [&] { return std::chrono::duration_cast<seconds>(steady_clock::now() - started); };
  const auto finish = [&](screen::WaitEnd end) {
    progress.Close();
    out << screen::WaitResult(*newest, end, waited(), terminal.width);
    return CodeOf(end);
  };
  do {
    auto asked = steady_clock::now();
    auto status = agent.Status(limited);
    if (call.Stopped()) break;
    if (!status) {
      // An agent that restarts comes back; one that never answered is the last word below.
      if (steady_clock::now() < limited.deadline) trouble = status.error();
      progress.ShowTrouble(status.error().message(), err);
      continue;
    }
    trouble.reset();
    terminal = StdoutTerminal();  // it may have become another size
    newest = screen::NarrowTo(*std::move(status), options.demand);
    if (auto end = EndOf(*newest, options.fail_fast)) {
      if (asked - started >= kListIsRead) return finish(*end);
      continue;
    }
    std::size_t width = LineWidth(terminal);
    progress.Show(screen::WaitLine(*newest, width), screen::WaitKey(*newest),
                  screen::WaitDetails(*newest, width, DetailLines(terminal, kNodeDetails)));
  } while (base::Pause(limited, kLook) && steady_clock::now() < limited.deadline);
  progress.Close();
  if (call.Stopped()) return kInterrupted;
  if (trouble || !newest)
    return Fail(
        kUnreachable,
        progress.LastWords(trouble.value_or(base::Unavailable("the agent did not answer in time")), waited()),
        err);
  return finish(EndOf(*newest, options.fail_fast).value_or(screen::WaitEnd::kTimedOut));
}

}  // namespace prefetch::ctl
