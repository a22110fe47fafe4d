// Terminal: what standard output or standard error is, and how wide.
#pragma once

#include <cstddef>

namespace prefetch::ctl {

struct Terminal {
  bool interactive = false;  // a person looks at it, and lines can be rewritten
  bool color = false;        // a terminal, and NO_COLOR is not set
  std::size_t width = 80;
};

Terminal StdoutTerminal();
Terminal StderrTerminal();

// Whoever read standard output has gone away, as head does when it has its lines.
bool StdoutReaderIsGone();

}  // namespace prefetch::ctl
