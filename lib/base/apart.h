// Apart: jobs that may hang in the kernel, such as reading files of an NFS server that is gone. Nothing ends
// them, so each runs on a thread of its own, and its caller waits for a limited time.
#pragma once

#include <cstdint>
#include <functional>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"

namespace prefetch::base {

// Any thread may call.
class Apart {
 public:
  Apart() = default;
  // Waits for a job under way, however long it takes.
  ~Apart();
  Apart(const Apart&) = delete;
  Apart& operator=(const Apart&) = delete;

  // True if `job` has ended, within `patience`. One job runs at a time: while another one does, this waits
  // for that one until it has had `patience`, and is false.
  bool Run(std::function<void()> job, Duration patience) PREFETCH_EXCLUDES(mutex_);
  // Has the present job run for so long?
  bool Hangs(Duration patience) const PREFETCH_EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  Condition ended_;
  bool busy_ PREFETCH_GUARDED_BY(mutex_) = false;
  std::uint64_t jobs_ PREFETCH_GUARDED_BY(mutex_) = 0;  // so many have begun
  TimePoint began_ PREFETCH_GUARDED_BY(mutex_);         // the newest
  std::thread thread_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::base
