// TimedReader: jobs that may hang in the kernel, such as reading files of an NFS server that is gone. Nothing
// ends them, so they run on a thread of their own, and their caller waits for a limited time.
#pragma once

#include <cstdint>
#include <functional>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"

namespace prefetch::base {

// Any thread may call.
class TimedReader {
 public:
  TimedReader() = default;
  // Waits for a job under way, however long it takes: see Running().
  ~TimedReader();
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
  // Starts the thread with the first job, since most readers never get one that hangs.
  bool HasThread() PREFETCH_REQUIRES(mutex_);
  void Work() PREFETCH_EXCLUDES(mutex_);

  mutable Mutex mutex_;
  Condition changed_;
  std::function<void()> job_ PREFETCH_GUARDED_BY(mutex_);  // empty: none is under way
  std::uint64_t jobs_ PREFETCH_GUARDED_BY(mutex_) = 0;     // number of jobs that have begun
  TimePoint began_ PREFETCH_GUARDED_BY(mutex_);            // start of the newest job
  bool ending_ PREFETCH_GUARDED_BY(mutex_) = false;
  std::thread thread_ PREFETCH_GUARDED_BY(mutex_);  // from the first job on
};

}  // namespace prefetch::base
