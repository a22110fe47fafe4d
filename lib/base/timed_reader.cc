#include "base/timed_reader.h"

#include <atomic>
#include <chrono>
#include <system_error>
#include <utility>

namespace prefetch::base {
namespace {

std::atomic<int> running_jobs = 0;

}  // namespace

TimedReader::~TimedReader() {
  std::thread last;
  {
    Lock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
    // The thread is joined without the lock, which it needs to end.
    last = std::move(thread_);
  }
  if (last.joinable()) last.join();
}

bool TimedReader::Run(std::function<void()> job, Duration timeout) {
  Lock lock(mutex_);
  const bool mine = !job_;
  if (mine) {
    if (!HasThread()) return false;
    job_ = std::move(job);
    jobs_++;
    began_ = std::chrono::steady_clock::now();
    running_jobs++;
    changed_.notify_all();
  }
  const std::uint64_t awaited = jobs_;
  // The limit counts from the start of the job that is awaited, so ten callers of one hanging job do not wait
  // ten times.
  const TimePoint limit = began_ + timeout;
  const bool ended = changed_.wait_until(
      mutex_, limit, [&]() PREFETCH_REQUIRES(mutex_) { return !job_ || jobs_ != awaited; });
  // The job of another caller has read other files, or older ones.
  return mine && ended;
}

bool TimedReader::HasThread() {
  try {
    if (!thread_.joinable()) thread_ = std::thread([this] { Work(); });
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void TimedReader::Work() {
  for (;;) {
    std::function<void()> job;
    {
      Lock lock(mutex_);
      changed_.wait(mutex_, [&]() PREFETCH_REQUIRES(mutex_) { return job_ || ending_; });
      if (!job_) return;
      // job_ stays set while the job runs: it marks the thread as busy.
      job = job_;
    }
    job();
    Lock lock(mutex_);
    job_ = nullptr;
    running_jobs--;
    changed_.notify_all();
  }
}

bool TimedReader::Hangs(Duration timeout) const {
  Lock lock(mutex_);
  return job_ && std::chrono::steady_clock::now() - began_ >= timeout;
}

int TimedReader::Running() {
  return running_jobs;
}

}  // namespace prefetch::base
