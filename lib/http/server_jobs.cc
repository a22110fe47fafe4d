#include "http/server_jobs.h"

#include <unistd.h>

#include <algorithm>
#include <system_error>

namespace prefetch::http {
namespace {

ServerResponse Run(const Deferred& job, const base::Call& call) {
  try {
    return job(call);
  } catch (...) {
    return ErrorResponse(500, "this request could not be answered");
  }
}

}  // namespace

ServerJobs::ServerJobs(unsigned threads, unsigned queue, int wake)
    : most_threads_(threads), most_jobs_(threads == 0 ? 0 : threads + queue), wake_(wake) {
  threads_.reserve(threads);
}

void ServerJobs::Close() {
  std::deque<Waiting> dropped;  // destroyed without the lock
  {
    base::Lock lock(mutex_);
    ending_ = true;
    dropped.swap(waiting_);
  }
  condition_.notify_all();
}

ServerJobs::~ServerJobs() {
  Close();
  for (std::thread& thread : threads_) thread.join();
}

bool ServerJobs::Submit(std::uint64_t id, Deferred job, base::Call call) {
  {
    base::Lock lock(mutex_);
    if (waiting_.size() + running_ >= most_jobs_) return false;
    waiting_.push_back({id, std::move(job), std::move(call)});
  }
  condition_.notify_one();
  if (!NeedsThread()) return true;
  try {
    threads_.emplace_back([this] { Work(); });
  } catch (const std::system_error&) {  // the process may have no more threads: those that are there must do
    if (threads_.empty()) return !Drop(id);
  }
  return true;
}

bool ServerJobs::NeedsThread() const {
  base::Lock lock(mutex_);
  return threads_.size() < most_threads_ && waiting_.size() + running_ > threads_.size();
}

bool ServerJobs::Drop(std::uint64_t id) {
  Deferred dropped;  // destroyed without the lock
  base::Lock lock(mutex_);
  auto found =
      std::find_if(waiting_.begin(), waiting_.end(), [id](const Waiting& job) { return job.id == id; });
  if (found == waiting_.end()) return false;
  dropped = std::move(found->job);
  waiting_.erase(found);
  return true;
}

std::vector<ServerJobs::Done> ServerJobs::TakeDone() {
  base::Lock lock(mutex_);
  std::vector<Done> done;
  done.swap(done_);
  return done;
}

void ServerJobs::Work() {
  while (true) {
    Waiting next;
    {
      base::Lock lock(mutex_);
      while (waiting_.empty() && !ending_) condition_.wait(mutex_);
      if (ending_) return;
      next = std::move(waiting_.front());
      waiting_.pop_front();
      running_++;
    }
    ServerResponse response = Run(next.job, next.call);
    next.job = nullptr;  // it is gone, with all that it holds, before its answer is seen
    {
      base::Lock lock(mutex_);
      running_--;
      done_.push_back({next.id, std::move(response)});
    }
    std::uint64_t one = 1;
    [[maybe_unused]] auto written = ::write(wake_, &one, sizeof one);
  }
}

}  // namespace prefetch::http
