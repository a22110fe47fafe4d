#include "base/apart.h"

#include <chrono>
#include <utility>

namespace prefetch::base {

Apart::~Apart() {
  std::thread last;
  {
    Lock lock(mutex_);
    last = std::move(thread_);
  }
  if (last.joinable()) last.join();
}

bool Apart::Run(std::function<void()> job, Duration patience) {
  Lock lock(mutex_);
  const bool mine = !busy_;
  if (mine) {
    if (thread_.joinable()) thread_.join();  // it has nothing left to do
    busy_ = true;
    jobs_++;
    began_ = std::chrono::steady_clock::now();
    thread_ = std::thread([this, job = std::move(job)] {
      job();
      Lock done(mutex_);
      busy_ = false;
      ended_.notify_all();
    });
  }
  const std::uint64_t awaited = jobs_;
  const TimePoint limit = began_ + patience;
  const bool ended = ended_.wait_until(
      mutex_, limit, [&]() PREFETCH_REQUIRES(mutex_) { return !busy_ || jobs_ != awaited; });
  return mine && ended;
}

bool Apart::Hangs(Duration patience) const {
  Lock lock(mutex_);
  return busy_ && std::chrono::steady_clock::now() - began_ >= patience;
}

}  // namespace prefetch::base
