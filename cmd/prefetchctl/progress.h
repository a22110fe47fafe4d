// Progress: what a long work says while it goes on: a view that is drawn anew on a terminal, plain lines
// elsewhere.
#pragma once

#include <chrono>
#include <ostream>
#include <string>
#include <vector>

#include "terminal.h"

namespace prefetch::ctl {

class Progress {
 public:
  // `quiet_first`: without a terminal nothing is said of work that ends within some seconds.
  Progress(std::ostream& out, const Terminal& terminal, bool quiet_first = false);
  ~Progress() { Close(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // On a terminal `line` and below it `details`, each no wider than the terminal. Elsewhere `line`: when
  // `key` is another one (not oftener than every 5 s), and every 30 s anyway.
  void Show(const std::string& line, const std::string& key, const std::vector<std::string>& details = {});
  // Takes the view away; what comes next is printed in its place.
  void Close();

 private:
  using Clock = std::chrono::steady_clock;

  std::ostream& out_;
  const Terminal terminal_;
  std::size_t lines_ = 0;  // of the view that is on the terminal
  bool shown_any_ = false;
  std::string key_;
  Clock::time_point shown_at_;
};

}  // namespace prefetch::ctl
