// Mutex and Lock: std::mutex with clang's thread-safety annotations, which libstdc++ does not carry.
// ThreadChecker and SequenceChecker: thread contracts of objects without a lock.
// Latest: a value with one writer thread and many readers.
//
//   Mutex mutex_;
//   int n_ PREFETCH_GUARDED_BY(mutex_);
//   ...  Lock lock(mutex_);  n_++;
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"

#if defined(__clang__)
#define PREFETCH_TSA(x) __attribute__((x))
#else
#define PREFETCH_TSA(x)
#endif
#define PREFETCH_GUARDED_BY(m) PREFETCH_TSA(guarded_by(m))
#define PREFETCH_REQUIRES(m) PREFETCH_TSA(requires_capability(m))
#define PREFETCH_EXCLUDES(m) PREFETCH_TSA(locks_excluded(m))

namespace prefetch::base {

class PREFETCH_TSA(capability("mutex")) Mutex {
 public:
  void lock() PREFETCH_TSA(acquire_capability()) { mutex_.lock(); }
  void unlock() PREFETCH_TSA(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class PREFETCH_TSA(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) PREFETCH_TSA(acquire_capability(mutex)) : mutex_(mutex) { mutex_.lock(); }
  ~Lock() PREFETCH_TSA(release_capability()) { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits on a Mutex that the caller holds through a Lock.
using Condition = std::condition_variable_any;
// Waits until it is notified, or until `time`; TimePoint::max() means no limit.
inline std::cv_status WaitUntil(Condition& condition, Mutex& mutex, TimePoint time) PREFETCH_REQUIRES(mutex) {
  if (time != TimePoint::max()) return condition.wait_until(mutex, time);
  condition.wait(mutex);
  return std::cv_status::no_timeout;
}

// Thread contracts of objects without a lock: the compiler checks accesses to guarded members, and the
// program ends at once, in every build, if two threads use an object that is meant for one.
//
//   ThreadChecker thread_;
//   int n_ PREFETCH_GUARDED_BY(thread_);
//   ...  thread_.Check();  n_++;

// The thread that calls Check first owns it, until Release. No thread owns a copy yet.
//
// The order of memory is relaxed on purpose: the check orders nothing, so it hides no race from the thread
// sanitizer.
class PREFETCH_TSA(capability("thread")) ThreadChecker {
 public:
  ThreadChecker() = default;
  ThreadChecker(const ThreadChecker& /*other*/) {}
  ThreadChecker& operator=(const ThreadChecker& /*other*/) { return *this; }

  // Ends the program if another thread has called it before.
  void Check() const PREFETCH_TSA(assert_capability(this)) {
    std::thread::id owner;
    const std::thread::id self = std::this_thread::get_id();
    if (owner_.load(std::memory_order_relaxed) == self) return;  // the usual case is only a read
    if (owner_.compare_exchange_strong(owner, self, std::memory_order_relaxed)) return;
    std::abort();
  }
  // The next Check may come from another thread: the owner is done, or was only building the object.
  void Release() const { owner_.store(std::thread::id(), std::memory_order_relaxed); }

 private:
  mutable std::atomic<std::thread::id> owner_;
};

// For objects that several threads use, one after the other. A copy is used by nobody yet.
class SequenceChecker {
 public:
  SequenceChecker() = default;
  SequenceChecker(const SequenceChecker& /*other*/) {}
  SequenceChecker& operator=(const SequenceChecker& /*other*/) { return *this; }

  // One use of the object, for as long as this lives. Ends the program if another thread uses it. A use
  // within a use of the same thread is welcome.
  class Use {
   public:
    explicit Use(const SequenceChecker& object) : object_(object) {
      std::thread::id user;
      const std::thread::id self = std::this_thread::get_id();
      outermost_ = object_.user_.compare_exchange_strong(user, self, std::memory_order_relaxed);
      if (!outermost_ && user != self) std::abort();
    }
    ~Use() {
      if (outermost_) object_.user_.store(std::thread::id(), std::memory_order_relaxed);
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    const SequenceChecker& object_;
    bool outermost_ = false;
  };

 private:
  mutable std::atomic<std::thread::id> user_;
};

// The newest value of one writer thread, for many readers. Any thread. Until the first value it holds a
// default T and is pending. A writer that cannot succeed calls GiveUp, so that no reader waits for it.
template <typename T>
class Latest {
 public:
  // Adds a callback, which runs on the writer's thread after each Set and GiveUp that changed something. Call
  // it before the writer starts.
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
  // Returns true before the first Set or GiveUp.
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
