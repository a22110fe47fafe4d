#include "base/timed_reader.h"

#include <atomic>
#include <chrono>
#include <system_error>
#include <utility>

namespace prefetch::base {
namespace {

std::atomic<int> running_jobs = 0;

}  // namespace

bool TimedReader::Run(std::function<void()> job, Duration timeout) {
  Lock lock(mutex_);
  const bool mine = !is_busy_;
  if (mine) {
    try {
      thread_.Submit([this, job = std::move(job)] {
        running_jobs++;
        job();
        running_jobs--;
        Lock inside(mutex_);
        is_busy_ = false;
        changed_.notify_all();
      });
    } catch (const std::system_error&) {
      return false;
    }
    is_busy_ = true;
    jobs_++;
    began_ = std::chrono::steady_clock::now();
  }
  const std::uint64_t awaited = jobs_;
  // The limit counts from the start of the job that is awaited, so ten callers of one hanging job do not wait
  // ten times.
  const TimePoint limit = began_ + timeout;
  const bool ended = changed_.wait_until(
      mutex_, limit, [&]() PREFETCH_REQUIRES(mutex_) { return !is_busy_ || jobs_ != awaited; });
  // The job of another caller has read other files, or older ones.
  return mine && ended;
}

bool TimedReader::Hangs(Duration timeout) const {
  Lock lock(mutex_);
  return is_busy_ && std::chrono::steady_clock::now() - began_ >= timeout;
}

int TimedReader::Running() {
  return running_jobs;
}

}  // namespace prefetch::base
