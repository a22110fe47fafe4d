// std::mutex with clang's thread-safety annotations, which libstdc++ does not carry.
//
//   Mutex mutex_;
//   int n_ PREFETCH_GUARDED_BY(mutex_);
//   ...  Lock lock(mutex_);  n_++;
#pragma once

#include <condition_variable>
#include <mutex>

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

}  // namespace prefetch::base
