#include "ctl/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/ascii_output.h"
#include "ctl/exit_code.h"

namespace prefetch::ctl {

namespace {

Terminal TerminalOf(int fd) {
  Terminal terminal;
  if (!::isatty(fd)) return terminal;
  const char* kind = std::getenv("TERM");
  // Editors' shells set "dumb": they are terminals, but cannot move the cursor.
  terminal.interactive = kind == nullptr || std::string_view(kind) != "dumb";
  const char* no_color = std::getenv("NO_COLOR");
  terminal.color = terminal.interactive && (no_color == nullptr || *no_color == '\0');
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) return terminal;
  if (size.ws_col > 0) terminal.width = size.ws_col;
  if (size.ws_row > 0) terminal.height = size.ws_row;
  return terminal;
}

// Returns as much of the screen as the terminal can show. The most important lines stand first, and must not
// scroll away.
std::string Fit(std::string_view screen, const Terminal& terminal) {
  if (screen.ends_with('\n')) screen.remove_suffix(1);
  // Two lines stay free: one for the note at the end, one for the cursor.
  std::size_t room = std::max<std::size_t>(terminal.height, 3) - 2;
  std::string text;
  std::vector<std::string_view> lines = base::Split(screen, '\n');
  for (std::size_t i = 0; i < lines.size(); i++) {
    std::size_t width = screen::DisplayWidth(lines[i]);
    std::size_t rows = std::max<std::size_t>(1, (width + terminal.width - 1) / terminal.width);
    bool fits = rows <= room || (i + 1 == lines.size() && rows <= room + 1);
    if (!fits) {
      return text + "… " + base::Plural(lines.size() - i, "more line", "more lines") +
             " (without --watch all are shown)\n";
    }
    room -= std::min(rows, room);
    text.append(lines[i]).append("\n");
  }
  return text;
}

// Draws over the previous screen and clears the rest of each line, so that nothing flickers. Lines that have
// scrolled away stay. "\xff": base::kOwnEscape.
std::string Redraw(const std::string& screen) {
  return "\xff[H" + base::ReplaceAll(screen, "\n", "\xff[K\n") + "\xff[J";
}

}  // namespace

int WatchScreen(const base::Call& call, std::chrono::nanoseconds pause, std::ostream& out,
                const std::function<std::string(const Terminal&)>& render) {
  std::string shown;
  // Cleared once; afterwards screens are drawn over each other.
  if (StdoutTerminal().interactive) out << "\xff[2J";
  std::chrono::steady_clock::duration took{};
  do {
    const Terminal terminal = StdoutTerminal();  // its size may have changed
    const auto began = std::chrono::steady_clock::now();
    std::string screen = render(terminal);
    took = std::chrono::steady_clock::now() - began;
    if (call.Stopped()) break;
    if (terminal.interactive) {
      out << Redraw(Fit(screen, terminal)) << std::flush;
    } else if (screen != shown) {
      out << screen << std::flush;
    }
    shown = std::move(screen);
    // A slow source is asked at most half of the time.
  } while (!base::StdoutReaderIsGone() && base::Pause(call, std::max<std::chrono::nanoseconds>(pause, took)));
  return call.Stopped() ? kInterrupted : kOk;
}

Terminal StdoutTerminal() {
  return TerminalOf(STDOUT_FILENO);
}

Terminal StderrTerminal() {
  return TerminalOf(STDERR_FILENO);
}

Progress::Progress(std::ostream& out, const Terminal& terminal, bool delay_first_line)
    : out_(out), terminal_(terminal), pace_(std::chrono::steady_clock::now(), delay_first_line) {}

void Progress::Show(const std::string& line, const std::string& key,
                    const std::vector<std::string>& details) {
  if (terminal_.interactive) {
    Close();
    out_ << line;
    for (const std::string& detail : details) out_ << "\n" << detail;
    out_ << std::flush;
    lines_ = 1 + details.size();
    return;
  }
  // A log of a CI job keeps every line, so only news and occasional signs of life are printed.
  if (pace_.ShouldLog(key, std::chrono::steady_clock::now())) out_ << line << "\n" << std::flush;
}

void Progress::ShowProblem(const std::string& sentence, std::ostream& err) {
  if (terminal_.interactive) {
    Show(OneLine(sentence, StdoutTerminal()), sentence);
  } else if (sentence != shown_problem_) {
    err << "prefetchctl: " << OneLine(sentence, terminal_) << "\n" << std::flush;
    shown_problem_ = sentence;
  }
}

base::Error Progress::FinalError(const base::Error& last_error, std::chrono::seconds waited) const {
  // A message that stands on standard error already is not repeated.
  if (last_error.message() != shown_problem_) return last_error;
  return base::Unavailable("gave up after " + base::HumanTime(waited));
}

void Progress::Close() {
  if (lines_ == 0) return;
  out_ << "\r";
  if (lines_ > 1) out_ << "\xff[" << lines_ - 1 << "A";
  out_ << "\xff[J" << std::flush;
  lines_ = 0;
}

}  // namespace prefetch::ctl
