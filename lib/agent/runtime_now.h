// What the runtime has at this moment, for questions for which the Snapshot may be seconds too old: an image
// that somebody removed a second ago is gone for the pod that starts now.
#pragma once

#include <memory>

#include "base/call.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "cri/image_service.h"
#include "image/local_image.h"
#include "plan/snapshot.h"

namespace prefetch::agent {

// Any thread may call. What it refers to outlives it.
class RuntimeNow {
 public:
  using Listing = std::shared_ptr<const cri::CallResult<image::LocalImageIndex>>;

  RuntimeNow(cri::ImageService& images, const base::Clock& clock) : images_(images), clock_(clock) {}

  // One ListImages; an answer that is younger than `age` is used again. Never null.
  Listing Ask(const base::Call& call, base::Duration age) PREFETCH_EXCLUDES(mutex_);

  // An entry of the list as `index` has it. Whether another image than that of the last look runs here, the
  // runtime is asked for.
  plan::ImageState Entry(const base::Call& call, plan::ImageState entry,
                         const image::LocalImageIndex& index) const;

 private:
  cri::ImageService& images_;
  const base::Clock& clock_;
  base::Mutex mutex_;
  Listing newest_ PREFETCH_GUARDED_BY(mutex_);
  base::TimePoint asked_at_ PREFETCH_GUARDED_BY(mutex_);
};

// An image that is on no list. Pure.
plan::ImageState UnlistedNow(const image::Reference& reference, const image::LocalImageIndex& index);

}  // namespace prefetch::agent
