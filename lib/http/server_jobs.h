// ServerJobs: the few threads on which a Server runs its deferred answers. Internal to http/.
#pragma once

#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "http/handler.h"

namespace prefetch::http {

// Owned by a Server's loop, which alone calls it; the jobs run on threads that start when they are first
// needed and take over its signal mask. A job is named by a number of the caller's choice.
class ServerJobs {
 public:
  struct Done {
    std::uint64_t id = 0;
    ServerResponse response;
  };

  // At most `threads` jobs run at once and `queue` more wait. `wake` is written to (an eventfd, which
  // outlives this object) whenever a job is done.
  ServerJobs(unsigned threads, unsigned queue, int wake);
  // Waits for the jobs that run: Close, and stop their calls, first.
  ~ServerJobs();
  ServerJobs(const ServerJobs&) = delete;
  ServerJobs& operator=(const ServerJobs&) = delete;

  // False: there is no room for one more, and it will not run.
  bool Submit(std::uint64_t id, Deferred job, base::Call call) PREFETCH_EXCLUDES(mutex_);
  // Forgets a job that waits; false if it has begun (or ended) meanwhile: stopping it is its call's business.
  bool Drop(std::uint64_t id) PREFETCH_EXCLUDES(mutex_);
  // Drops the jobs that wait; none begins from now on.
  void Close() PREFETCH_EXCLUDES(mutex_);
  // The jobs that have ended since the last call, stopped ones included.
  std::vector<Done> TakeDone() PREFETCH_EXCLUDES(mutex_);

 private:
  struct Waiting {
    std::uint64_t id = 0;
    Deferred job;
    base::Call call;
  };

  void Work() PREFETCH_EXCLUDES(mutex_);
  bool NeedsThread() const PREFETCH_EXCLUDES(mutex_);

  const unsigned most_threads_;
  const unsigned most_jobs_;
  const int wake_;
  std::vector<std::thread> threads_;  // the caller's thread alone touches it

  mutable base::Mutex mutex_;
  base::Condition condition_;
  std::deque<Waiting> waiting_ PREFETCH_GUARDED_BY(mutex_);
  unsigned running_ PREFETCH_GUARDED_BY(mutex_) = 0;
  std::vector<Done> done_ PREFETCH_GUARDED_BY(mutex_);
  bool ending_ PREFETCH_GUARDED_BY(mutex_) = false;
};

}  // namespace prefetch::http
