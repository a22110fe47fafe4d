// Pause: waits between two looks at an agent.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/call.h"

namespace prefetch::ctl {

// False, at once, when `call` is stopped; otherwise true after `time`, or at the deadline.
inline bool Pause(const base::Call& call, base::Duration time) {
  std::mutex mutex;
  std::condition_variable_any condition;
  std::unique_lock lock(mutex);
  base::TimePoint until = std::min(call.deadline, std::chrono::steady_clock::now() + time);
  condition.wait_until(lock, call.stop, until, [] { return false; });
  return !call.Stopped();
}

}  // namespace prefetch::ctl
