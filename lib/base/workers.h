// Workers: a small pool of threads, each running one blocking job at a time.
// ParallelFor: a loop over several threads.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace prefetch::base {

// Threads are made when there is work for them. One owner. A job owns nothing that outlives it. Any thread
// may Submit. The destructor drops the jobs that have not started and waits for those that have: ask them to
// stop first.
class Workers {
 public:
  explicit Workers(int max_threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Queues the job, and makes a thread for it if need be. Throws std::system_error, and does not queue it, if
  // there is no thread and none can be made.
  void Submit(std::function<void()> job) PREFETCH_EXCLUDES(mutex_);

 private:
  void AddThread() PREFETCH_REQUIRES(mutex_);
  void Work() PREFETCH_EXCLUDES(mutex_);

  Mutex mutex_;
  Condition condition_;
  std::deque<std::function<void()>> queue_ PREFETCH_GUARDED_BY(mutex_);
  bool stopping_ PREFETCH_GUARDED_BY(mutex_) = false;
  std::size_t idle_ PREFETCH_GUARDED_BY(mutex_) = 0;
  const std::size_t max_threads_;
  std::vector<std::thread> threads_ PREFETCH_GUARDED_BY(mutex_);
};

// Calls `work` once for each index below `count`, on at most `threads` threads. The caller's is one of them.
// A thread takes the next index when it is free. Returns after the last call.
void ParallelFor(std::size_t threads, std::size_t count, const std::function<void(std::size_t index)>& work);

}  // namespace prefetch::base
