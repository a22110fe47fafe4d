// Contracts about threads, for objects without a lock: the compiler checks who touches guarded members, and
// the program ends at once, in every build, where two threads share what is meant for one.
//
//   OneThread thread_;
//   int n_ PREFETCH_GUARDED_BY(thread_);
//   ...  thread_.Check();  n_++;
#pragma once

#include <atomic>
#include <cstdlib>
#include <thread>

#include "base/mutex.h"

namespace prefetch::base {

// The thread that calls Check first owns it, until Release. No thread owns a copy yet.
//
// The order of memory is relaxed on purpose: the check orders nothing, so it hides no race from the thread
// sanitizer.
class PREFETCH_TSA(capability("thread")) OneThread {
 public:
  OneThread() = default;
  OneThread(const OneThread& /*other*/) {}
  OneThread& operator=(const OneThread& /*other*/) { return *this; }

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
class OneAtATime {
 public:
  OneAtATime() = default;
  OneAtATime(const OneAtATime& /*other*/) {}
  OneAtATime& operator=(const OneAtATime& /*other*/) { return *this; }

  // One use of the object, for as long as this lives. Ends the program if another thread uses it. A use
  // within a use of the same thread is welcome.
  class Use {
   public:
    explicit Use(const OneAtATime& object) : object_(object) {
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
    const OneAtATime& object_;
    bool outermost_ = false;
  };

 private:
  mutable std::atomic<std::thread::id> user_;
};

}  // namespace prefetch::base
