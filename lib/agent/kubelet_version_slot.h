// KubeletVersionSlot: what one thread has learnt of kubelet's version, for another to read.
#pragma once

#include <optional>

#include "base/mutex.h"
#include "image/kubelet_version.h"

namespace prefetch::agent {

// Shared by the NodeGate, which fills it from its Node, and the KubeletObserver. Any thread.
class KubeletVersionSlot {
 public:
  void Set(image::KubeletVersion version) PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    version_ = version;
  }
  std::optional<image::KubeletVersion> Get() const PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    return version_;
  }

 private:
  mutable base::Mutex mutex_;
  std::optional<image::KubeletVersion> version_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::agent
