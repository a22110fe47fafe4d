// StopOnSignals: SIGTERM and SIGINT become a stop; a second one ends the process at once. SIGCHLD makes it
// reap orphans.
#pragma once

#include <stop_token>
#include <thread>

namespace prefetch {

// Constructed by main before any other thread exists, so that all of them inherit the blocked signals.
class StopOnSignals {
 public:
  StopOnSignals();
  ~StopOnSignals();
  StopOnSignals(const StopOnSignals&) = delete;
  StopOnSignals& operator=(const StopOnSignals&) = delete;

  std::stop_token token() const { return stop_.get_token(); }

 private:
  std::stop_source stop_;
  std::thread waiter_;
};

}  // namespace prefetch
