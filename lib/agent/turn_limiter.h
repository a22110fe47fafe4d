// Turns: when the loop next goes through all entries. It wakes oftener than that: a look that brings nothing
// new costs a waking, and no more, however long the list is.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace prefetch::agent {

// The loop's, and no other thread's: no lock.
class TurnLimiter {
 public:
  explicit TurnLimiter(base::TimePoint first) : due_(first) {}

  base::TimePoint due() const { return due_; }
  std::uint64_t count() const { return count_; }
  // One is over; the next is at `due`, if nothing happens.
  void Went(base::TimePoint due) {
    due_ = due;
    count_++;
  }

 private:
  base::TimePoint due_;
  std::uint64_t count_ = 0;
};

}  // namespace prefetch::agent
