// LogPace: when work that goes on gets a line in a log: at once for the first, soon when something has
// changed, and now and then anyway, so that it does not look hung. Pure.
#pragma once

#include <chrono>
#include <string>

#include "base/clock.h"

namespace prefetch::screen {

class LogPace {
 public:
  static constexpr std::chrono::seconds kAtMost{5};    // between two lines, however much changes
  static constexpr std::chrono::seconds kAtLeast{30};  // and if nothing does

  // `quiet_first`: nothing is said of work that ends within kAtMost.
  LogPace(base::TimePoint now, bool quiet_first) : said_any_(quiet_first), said_at_(now) {}

  // `key` is another one when something has changed that is worth a line. True: say it now; it is then taken
  // for said.
  bool Due(const std::string& key, base::TimePoint now) {
    if (said_any_ && now - said_at_ < (key == key_ ? kAtLeast : kAtMost)) return false;
    said_any_ = true;
    key_ = key;
    said_at_ = now;
    return true;
  }

 private:
  bool said_any_;
  std::string key_;
  base::TimePoint said_at_;
};

}  // namespace prefetch::screen
