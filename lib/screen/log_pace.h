// LogPace: when work that goes on gets a line in a log: at once for the first, soon when something has
// changed, and now and then anyway, so that it does not look hung. Pure.
#pragma once

#include <chrono>
#include <string>

#include "base/clock.h"

namespace prefetch::screen {

class LogPace {
 public:
  static constexpr std::chrono::seconds kMinInterval{5};   // between two lines, however much changes
  static constexpr std::chrono::seconds kMaxInterval{30};  // and if nothing does

  // `delay_first_line`: nothing is said of work that ends within kMinInterval.
  LogPace(base::TimePoint now, bool delay_first_line) : logged_(delay_first_line), logged_at_(now) {}

  // `key` is another one when something has changed that is worth a line. True: say it now; it is then taken
  // for said.
  bool ShouldLog(const std::string& key, base::TimePoint now) {
    if (logged_ && now - logged_at_ < (key == key_ ? kMaxInterval : kMinInterval)) return false;
    logged_ = true;
    key_ = key;
    logged_at_ = now;
    return true;
  }

 private:
  bool logged_;
  std::string key_;
  base::TimePoint logged_at_;
};

}  // namespace prefetch::screen
