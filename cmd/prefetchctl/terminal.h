// Terminal: what standard output or standard error is, and how wide.
#pragma once

#include <cstddef>

namespace prefetch::ctl {

struct Terminal {
  bool interactive = false;  // a person looks at it, and lines can be rewritten
  bool color = false;        // a terminal, and NO_COLOR is not set
  std::size_t width = 80, height = 24;
};

Terminal StdoutTerminal();
Terminal StderrTerminal();

}  // namespace prefetch::ctl
