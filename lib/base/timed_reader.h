// TimedReader: jobs that may hang in the kernel, such as reading files of an NFS server that is gone. Nothing
// ends them, so they run on a thread of their own, and their caller waits for a limited time.
#pragma once

#include <cstdint>
#include <functional>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/workers.h"

namespace prefetch::base {

// Any thread may call.
class TimedReader {
 public:
  // The destructor waits for a job under way, however long it takes: see Running().
  TimedReader() = default;
  TimedReader(const TimedReader&) = delete;
  TimedReader& operator=(const TimedReader&) = delete;

  // Returns true if `job` has ended within `timeout`. One job runs at a time: while another one runs, this
  // call waits for that one until it has had `timeout`, and returns false. Returns false at once if the
  // process may have no more threads.
  bool Run(std::function<void()> job, Duration timeout) PREFETCH_EXCLUDES(mutex_);
  // Returns true if the present job has run for this long.
  bool Hangs(Duration timeout) const PREFETCH_EXCLUDES(mutex_);

  // Returns the number of jobs that run now, in all TimedReaders. A process that has nothing left to do ends
  // by std::_Exit rather than wait for them.
  static int Running();

 private:
  mutable Mutex mutex_;
  Condition changed_;
  bool is_busy_ PREFETCH_GUARDED_BY(mutex_) = false;    // a job is under way
  std::uint64_t jobs_ PREFETCH_GUARDED_BY(mutex_) = 0;  // number of jobs that have begun
  TimePoint began_ PREFETCH_GUARDED_BY(mutex_);         // start of the newest job
  Workers thread_{1};                                   // last: its thread uses what stands above
};

}  // namespace prefetch::base
