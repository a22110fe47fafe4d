#include "base/call.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace prefetch::base {

bool Pause(const Call& call, Duration time) {
  // A condition that nobody notifies: only the stop and the time end the wait.
  std::mutex mutex;
  std::condition_variable_any condition;
  std::unique_lock lock(mutex);
  const TimePoint until = std::min(call.deadline, std::chrono::steady_clock::now() + time);
  condition.wait_until(lock, call.stop, until, [] { return false; });
  return !call.Stopped();
}

}  // namespace prefetch::base
