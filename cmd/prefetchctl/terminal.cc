#include "terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

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

}  // namespace prefetch::ctl
