// Call: the first parameter of each public function that may wait for another program. Objects that are
// opened with a Call keep it.
//
// It carries the caller's deadline and stop token. It becomes a gRPC deadline with TryCancel, curl's timeout
// with its progress callback, a child's kill.
#pragma once

#include <chrono>
#include <stop_token>

#include "base/clock.h"
#include "base/mutex.h"

namespace prefetch::base {

struct Call {
  TimePoint deadline = TimePoint::max();  // real monotonic time, also in tests
  std::stop_token stop;

  bool Stopped() const { return stop.stop_requested(); }

  // Returns whether the caller waits for less than `usual`; half a second that it may have lost on its way
  // does not count. A timeout of such a call shows nothing about the server that was asked.
  bool HasShortDeadline(Duration usual) const {
    return deadline < std::chrono::steady_clock::now() + usual - std::chrono::milliseconds(500);
  }

  // Returns this call with a deadline at most `limit` from now.
  Call Within(Duration limit) const {
    TimePoint latest = std::chrono::steady_clock::now() + limit;
    return {latest < deadline ? latest : deadline, stop};
  }
};

// Waits for `time`, or until the deadline, and returns true. Returns false at once when `call` is stopped.
bool Pause(const Call& call, Duration time);

// Waits until `done()` is true. Returns false if the call ends first. The caller holds `mutex` through a
// Lock, and every change of what `done` reads notifies `condition`.
template <typename Done>
bool WaitFor(Condition& condition, Mutex& mutex, const Call& call, Done done) PREFETCH_REQUIRES(mutex) {
  if (call.deadline == TimePoint::max()) return condition.wait(mutex, call.stop, done);
  return condition.wait_until(mutex, call.stop, call.deadline, done);
}

}  // namespace prefetch::base
