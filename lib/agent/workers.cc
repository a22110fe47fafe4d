#include "agent/workers.h"

#include <utility>

namespace prefetch::agent {

Workers::Workers(int threads) {
  threads_.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; i++) threads_.emplace_back([this] { Work(); });
}

Workers::~Workers() {
  {
    base::Lock lock(mutex_);
    stopping_ = true;
    queue_.clear();
  }
  condition_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::Submit(std::function<void()> job) {
  {
    base::Lock lock(mutex_);
    if (stopping_) return;
    queue_.push_back(std::move(job));
  }
  condition_.notify_one();
}

void Workers::Work() {
  while (true) {
    std::function<void()> job;
    {
      base::Lock lock(mutex_);
      while (queue_.empty() && !stopping_) condition_.wait(mutex_);
      if (stopping_) return;
      job = std::move(queue_.front());
      queue_.pop_front();
    }
    job();
  }
}

}  // namespace prefetch::agent
