#include "ctl/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string_view>

namespace prefetch::ctl {

namespace {

Terminal TerminalOf(int fd) {
  Terminal terminal;
  if (!::isatty(fd)) return terminal;
  const char* kind = std::getenv("TERM");
  terminal.interactive = kind == nullptr || std::string_view(kind) != "dumb";
  const char* no_color = std::getenv("NO_COLOR");
  terminal.color = terminal.interactive && (no_color == nullptr || *no_color == '\0');
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) return terminal;
  if (size.ws_col > 0) terminal.width = size.ws_col;
  if (size.ws_row > 0) terminal.height = size.ws_row;
  return terminal;
}

}  // namespace

Terminal StdoutTerminal() {
  return TerminalOf(STDOUT_FILENO);
}

Terminal StderrTerminal() {
  return TerminalOf(STDERR_FILENO);
}

Progress::Progress(std::ostream& out, const Terminal& terminal, bool quiet_first)
    : out_(out), terminal_(terminal), pace_(std::chrono::steady_clock::now(), quiet_first) {}

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
  if (pace_.Due(key, std::chrono::steady_clock::now())) out_ << line << "\n" << std::flush;
}

void Progress::Close() {
  if (lines_ == 0) return;
  out_ << "\r";
  if (lines_ > 1) out_ << "\x1b[" << lines_ - 1 << "A";
  out_ << "\x1b[J" << std::flush;
  lines_ = 0;
}

}  // namespace prefetch::ctl
