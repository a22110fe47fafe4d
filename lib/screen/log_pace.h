// LogPace: the times at which long work prints a line to a log: the first at once, one soon after each
// change, and one from time to time in any case, so that it does not look hung. Pure.
#pragma once

#include <chrono>
#include <string>

#include "base/clock.h"

namespace prefetch::screen {

class LogPace {
 public:
  static constexpr std::chrono::seconds kMinInterval{5};   // minimum interval between two lines
  static constexpr std::chrono::seconds kMaxInterval{30};  // maximum interval, if nothing changes

  // `delay_first_line`: nothing is printed about work that ends within kMinInterval.
  LogPace(base::TimePoint now, bool delay_first_line) : logged_(delay_first_line), logged_at_(now) {}

  // Returns true if a line is due now, and records it as printed. Another `key` means a change that is worth
  // a line.
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
