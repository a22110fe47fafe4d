// Terminal: what standard output or standard error is, and how wide.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "base/call.h"
#include "base/result.h"
#include "base/text.h"
#include "screen/log_pace.h"
#include "screen/text_layout.h"

namespace prefetch::ctl {

struct Terminal {
  bool interactive = false;  // a person looks at it, and lines can be rewritten
  bool color = false;        // a terminal, and NO_COLOR is not set
  std::size_t width = 80, height = 24;
};

Terminal StdoutTerminal();
Terminal StderrTerminal();

// Shows what `render` returns again and again, at most every `pause`, until the call is stopped
// (kInterrupted) or nobody reads any more. A terminal is drawn anew; elsewhere only changes are printed.
int WatchScreen(const base::Call& call, std::chrono::nanoseconds pause, std::ostream& out,
                const std::function<std::string(const Terminal&)>& render);

// Progress: what a long work says while it goes on: a view that is drawn anew on a terminal, plain lines
// elsewhere.
// How wide a line of it may be: one less than the terminal, and in a log as much as a line bears.
inline std::size_t LineWidth(const Terminal& terminal) {
  return terminal.interactive ? terminal.width - 1 : 200;
}
// How many lines below the first fit, up to `most`: redrawn lines must not have left the screen.
inline std::size_t DetailLines(const Terminal& terminal, std::size_t most) {
  return std::min(most, std::max<std::size_t>(terminal.height, 2) - 1);
}

// A sentence of any length as such a line. A log gets all of it.
inline std::string OneLine(const std::string& sentence, const Terminal& terminal) {
  std::string line = base::ReplaceAll(sentence, "\n", " ");
  return terminal.interactive ? screen::CutEnd(line, LineWidth(terminal)) : line;
}

class Progress {
 public:
  // `delay_first_line`: without a terminal nothing is said of work that ends within some seconds.
  Progress(std::ostream& out, const Terminal& terminal, bool delay_first_line = false);
  ~Progress() { Close(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // On a terminal `line` and below it `details`, each no wider than the terminal. Elsewhere `line`, as
  // screen::LogPace has it with `key`.
  void Show(const std::string& line, const std::string& key, const std::vector<std::string>& details = {});
  // Shows an obstacle that may pass: on a terminal as the view; otherwise once on `err`, as errors are
  // printed.
  void ShowProblem(const std::string& sentence, std::ostream& err);
  // The last words about trouble that did not pass: the sentence, unless `err` has it already.
  base::Error FinalError(const base::Error& last_error, std::chrono::seconds waited) const;
  // Takes the view away; what comes next is printed in its place.
  void Close();

 private:
  std::ostream& out_;
  const Terminal terminal_;
  std::size_t lines_ = 0;  // of the view that is on the terminal
  screen::LogPace pace_;
  std::string shown_problem_;  // of trouble, to `err`
};

}  // namespace prefetch::ctl
