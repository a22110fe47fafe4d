// A queue from many threads to one: how workers tell the loop what happened.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"

namespace prefetch::base {

// Any thread may Push; one thread pops. Unbounded: its producers are bounded (one job, one event).
template <typename T>
class Channel {
 public:
  void Push(T value) PREFETCH_EXCLUDES(mutex_) {
    {
      Lock lock(mutex_);
      queue_.push_back(std::move(value));
    }
    condition_.notify_one();
  }

  std::optional<T> TryPop() PREFETCH_EXCLUDES(mutex_) {
    Lock lock(mutex_);
    return Take();
  }

  // The next value, or nullopt once `deadline` has passed.
  std::optional<T> PopUntil(TimePoint deadline) PREFETCH_EXCLUDES(mutex_) {
    Lock lock(mutex_);
    while (queue_.empty()) {
      if (deadline == TimePoint::max()) {
        condition_.wait(mutex_);
      } else if (condition_.wait_until(mutex_, deadline) == std::cv_status::timeout) {
        break;
      }
    }
    return Take();
  }

  bool Empty() const PREFETCH_EXCLUDES(mutex_) {
    Lock lock(mutex_);
    return queue_.empty();
  }

 private:
  std::optional<T> Take() PREFETCH_REQUIRES(mutex_) {
    if (queue_.empty()) return std::nullopt;
    std::optional<T> value(std::move(queue_.front()));
    queue_.pop_front();
    return value;
  }

  mutable Mutex mutex_;
  Condition condition_;
  std::deque<T> queue_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::base
