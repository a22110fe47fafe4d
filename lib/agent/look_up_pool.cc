#include "agent/look_up_pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace prefetch::agent {

LookUpPool::LookUpPool(credentials::Keyring& keyring)
    : keyring_(keyring), plugins_(kLookUpThreads), files_(1) {}

void LookUpPool::Start(LookUpJob job) {
  files_.Submit([this, job = std::move(job)]() mutable {
    auto lookup = job.for_any_pod ? keyring_.FindNowForAnyPod(job.reference)
                                  : keyring_.FindNow(job.reference, job.sources);
    if (lookup) {
      job.done(*std::move(lookup));
    } else {
      Group group = keyring_.ProvidersFor(job.reference);
      Begin({std::move(group), std::move(job)});
    }
  });
}

int LookUpPool::held() const {
  base::Lock lock(mutex_);
  return static_cast<int>(waiting_.size());
}

void LookUpPool::Begin(Waiting one) {
  base::Lock lock(mutex_);
  if (MayRun(one)) {
    Run(std::move(one));
  } else {
    waiting_.push_back(std::move(one));
  }
}

// A stopped look-up ends at once.
bool LookUpPool::MayRun(const Waiting& one) const {
  if (running_in_all_ >= kLookUpThreads) return false;
  auto group = running_.find(one.group);
  if (group == running_.end() || one.job.call.Stopped()) return true;
  const bool is_first = group->second.by_registry.count(one.job.reference.domain()) == 0;
  return running_in_all_ < kPluginsAtOnce && group->second.all < (is_first ? kOfOneGroup : kOfOneRegistry);
}

void LookUpPool::Run(Waiting one) {
  Running& running = running_[one.group];
  running.all++;
  running.by_registry[one.job.reference.domain()]++;
  running_in_all_++;
  plugins_.Submit([this, group = std::move(one.group), job = std::move(one.job)] {
    credentials::Lookup lookup = job.for_any_pod ? keyring_.FindForAnyPod(job.call, job.reference)
                                                 : keyring_.Find(job.call, job.reference, job.sources);
    // Before it is told: who hears of it finds the place free.
    Ended(group, job.reference.domain());
    job.done(std::move(lookup));
  });
}

void LookUpPool::Ended(const Group& group, const std::string& registry) {
  base::Lock lock(mutex_);
  running_in_all_--;
  auto running = running_.find(group);
  if (auto found = running->second.by_registry.find(registry); --found->second == 0) {
    running->second.by_registry.erase(found);
  }
  if (--running->second.all == 0) running_.erase(running);
  while (true) {
    auto next = std::find_if(waiting_.begin(), waiting_.end(),
                             [this](const Waiting& one) PREFETCH_REQUIRES(mutex_) { return MayRun(one); });
    if (next == waiting_.end()) return;
    Waiting one = std::move(*next);
    waiting_.erase(next);
    Run(std::move(one));
  }
}

}  // namespace prefetch::agent
