// Latest: the newest value of one thread, for others to read.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace prefetch::base {

// Shared by one learner and its readers. Any thread. Until something is learnt it holds a T of its
// default value and is pending; a learner that cannot succeed calls GiveUp, so that no reader waits for it.
template <typename T>
class Latest {
 public:
  // Adds a callback, which runs on the learner's thread after each Set and GiveUp that changed something.
  // Before the learner starts.
  void OnChange(std::function<void()> callback) PREFETCH_EXCLUDES(mutex_) {
    Lock lock(mutex_);
    on_change_.push_back(std::move(callback));
  }

  void Set(T value) PREFETCH_EXCLUDES(mutex_) { Change(std::move(value)); }
  void GiveUp() PREFETCH_EXCLUDES(mutex_) {
    if (Pending()) Change(T());
  }

  T Get() const PREFETCH_EXCLUDES(mutex_) {
    Lock lock(mutex_);
    return value_;
  }
  // Nothing was learnt or given up yet.
  bool Pending() const PREFETCH_EXCLUDES(mutex_) {
    Lock lock(mutex_);
    return pending_;
  }

 private:
  void Change(T value) PREFETCH_EXCLUDES(mutex_) {
    std::vector<std::function<void()>> callbacks;
    {
      Lock lock(mutex_);
      bool changed = std::exchange(pending_, false) || !(value == value_);
      value_ = std::move(value);
      if (changed) callbacks = on_change_;
    }
    for (const auto& callback : callbacks) callback();
  }

  mutable Mutex mutex_;
  T value_ PREFETCH_GUARDED_BY(mutex_){};
  bool pending_ PREFETCH_GUARDED_BY(mutex_) = true;
  std::vector<std::function<void()>> on_change_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::base
