#include "agent/look_up_pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace prefetch::agent {

LookUpPool::LookUpPool(credentials::Keyring& keyring)
    : keyring_(keyring), plugins_(kPluginsAtOnce), files_(1) {}

void LookUpPool::Start(LookUpJob job) {
  files_.Submit([this, job = std::move(job)]() mutable {
    auto lookup = job.for_any_pod ? keyring_.FindNowForAnyPod(job.reference)
                                  : keyring_.FindNow(job.reference, job.sources);
    if (lookup) {
      job.done(*std::move(lookup));
    } else {
      Begin(std::move(job));
    }
  });
}

int LookUpPool::held() const {
  base::Lock lock(mutex_);
  return static_cast<int>(waiting_.size());
}

void LookUpPool::Begin(LookUpJob job) {
  base::Lock lock(mutex_);
  if (MayRun(job)) {
    Run(std::move(job));
  } else {
    waiting_.push_back(std::move(job));
  }
}

// The first of a registry runs if there is a thread; more of it, only while half of the threads are free.
// What was stopped is over in no time.
bool LookUpPool::MayRun(const LookUpJob& job) const {
  const bool is_first = running_.count(job.reference.domain()) == 0;
  return running_in_all_ < (is_first || job.call.Stopped() ? kPluginsAtOnce : kPluginsAtOnce / 2);
}

void LookUpPool::Run(LookUpJob job) {
  running_[job.reference.domain()]++;
  running_in_all_++;
  plugins_.Submit([this, job = std::move(job)] {
    credentials::Lookup lookup = job.for_any_pod ? keyring_.FindForAnyPod(job.call, job.reference)
                                                 : keyring_.Find(job.call, job.reference, job.sources);
    // Before it is told: who hears of it finds the place free.
    Ended(job.reference.domain());
    job.done(std::move(lookup));
  });
}

void LookUpPool::Ended(const std::string& registry) {
  base::Lock lock(mutex_);
  running_in_all_--;
  if (auto found = running_.find(registry); --found->second == 0) running_.erase(found);
  while (true) {
    auto next = std::find_if(waiting_.begin(), waiting_.end(),
                             [this](const LookUpJob& job) PREFETCH_REQUIRES(mutex_) { return MayRun(job); });
    if (next == waiting_.end()) return;
    LookUpJob job = std::move(*next);
    waiting_.erase(next);
    Run(std::move(job));
  }
}

}  // namespace prefetch::agent
