#include "base/workers.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <utility>

namespace prefetch::base {

Workers::Workers(int max_threads) : max_threads_(static_cast<std::size_t>(max_threads)) {}

Workers::~Workers() {
  std::vector<std::thread> threads;
  std::deque<std::function<void()>> dropped;
  {
    Lock lock(mutex_);
    stopping_ = true;
    // Jobs are destroyed without the lock, since their destructors are code of others.
    dropped.swap(queue_);
    threads.swap(threads_);
  }
  dropped.clear();
  condition_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

void Workers::Submit(std::function<void()> job) {
  {
    Lock lock(mutex_);
    if (stopping_) return;
    // Idle threads are counted against the whole queue, since a thread that was notified may not have taken
    // its job yet. A job for which there is no thread is not queued.
    if (queue_.size() >= idle_ && threads_.size() < max_threads_) AddThread();
    queue_.push_back(std::move(job));
  }
  condition_.notify_one();
}

// A container's limit of threads may be reached. The threads that exist then do the work; only if there is
// none is it an error.
void Workers::AddThread() {
  try {
    threads_.emplace_back([this] { Work(); });
  } catch (const std::system_error&) {
    if (threads_.empty()) throw;
  }
}

void Workers::Work() {
  while (true) {
    std::function<void()> job;
    {
      Lock lock(mutex_);
      // Counted under the lock together with the wait, so that Submit never sees a thread as idle that has a
      // job.
      idle_++;
      while (queue_.empty() && !stopping_) condition_.wait(mutex_);
      idle_--;
      if (stopping_) return;
      job = std::move(queue_.front());
      queue_.pop_front();
    }
    job();
  }
}

void ParallelFor(std::size_t threads, std::size_t count, const std::function<void(std::size_t index)>& work) {
  std::atomic<std::size_t> next = 0;
  auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> others;
  try {
    for (std::size_t i = 1; i < std::min(threads, count); i++) others.emplace_back(run);
  } catch (const std::system_error&) {
    // The process may have no more threads; the existing ones do all the work.
  }
  run();
}

}  // namespace prefetch::base
