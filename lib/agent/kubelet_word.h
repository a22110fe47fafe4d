// KubeletWord: what kubelet's own port has told last, for the KubeletObserver to read.
#pragma once

#include <memory>

#include "base/mutex.h"
#include "kubelet/told_by_kubelet.h"

namespace prefetch::agent {

// Shared by the KubeletAsker, which fills it, and the KubeletObserver. Any thread. The same pointer means
// that nothing has changed; null: kubelet was not asked, or has not answered for a while.
class KubeletWord {
 public:
  void Set(std::shared_ptr<const kubelet::ToldByKubelet> told) PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    told_ = std::move(told);
  }
  std::shared_ptr<const kubelet::ToldByKubelet> Get() const PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    return told_;
  }

 private:
  mutable base::Mutex mutex_;
  std::shared_ptr<const kubelet::ToldByKubelet> told_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::agent
