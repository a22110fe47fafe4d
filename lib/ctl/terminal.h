// Terminal: kind and size of standard output or standard error.
// Progress: the progress of long work; a view that is drawn anew on a terminal, plain lines elsewhere.
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

// Return the present properties of standard output and standard error.
Terminal StdoutTerminal();
Terminal StderrTerminal();

// Shows what `render` returns again and again, at most every `pause`, until the call is stopped
// (kInterrupted) or nobody reads any more. A terminal is drawn anew; elsewhere only changes are printed.
int WatchScreen(const base::Call& call, std::chrono::nanoseconds pause, std::ostream& out,
                const std::function<std::string(const Terminal&)>& render);

// Returns the maximum width of a line of Progress: one less than the terminal, and 200 in a log.
inline std::size_t LineWidth(const Terminal& terminal) {
  return terminal.interactive ? terminal.width - 1 : 200;
}
// Returns how many lines below the first fit, up to `most`: redrawn lines must not have left the screen.
inline std::size_t DetailLines(const Terminal& terminal, std::size_t most) {
  return std::min(most, std::max<std::size_t>(terminal.height, 2) - 1);
}

// Returns a sentence of any length as such a line. A log gets all of it.
inline std::string OneLine(const std::string& sentence, const Terminal& terminal) {
  std::string line = base::ReplaceAll(sentence, "\n", " ");
  return terminal.interactive ? screen::CutEnd(line, LineWidth(terminal)) : line;
}

// Shows the progress of long work. Owned by a command; one thread.
class Progress {
 public:
  // `delay_first_line`: without a terminal nothing is printed about work that ends within some seconds.
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
  // Returns the final error if the problem persisted: `last_error`, or a short one if ShowProblem has shown
  // its message already.
  base::Error FinalError(const base::Error& last_error, std::chrono::seconds waited) const;
  // Takes the view away; what comes next is printed in its place.
  void Close();

 private:
  std::ostream& out_;
  const Terminal terminal_;
  std::size_t lines_ = 0;  // of the view that is on the terminal
  screen::LogPace pace_;
  std::string shown_problem_;  // the last problem on `err`
};

}  // namespace prefetch::ctl
