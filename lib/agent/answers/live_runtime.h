// Asks the runtime now, where the Snapshot may be seconds too old: a pod that starts now fails without an
// image that was removed a second ago.
#pragma once

#include <memory>

#include "base/call.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "cri/content_service.h"
#include "cri/image_service.h"
#include "image/local_image.h"
#include "plan/snapshot.h"

namespace prefetch::agent {

// Thread-safe. Its arguments must outlive it.
class LiveRuntime {
 public:
  using Listing = std::shared_ptr<const cri::CallResult<image::LocalImageIndex>>;

  LiveRuntime(cri::ImageService& images, cri::ContentService& content, const base::Clock& clock)
      : images_(images), content_(content), clock_(clock) {}

  // How long it is waited for: a runtime that answers does so in milliseconds, and one that is stopped must
  // not cost the verdict.
  static base::Duration Timeout(const plan::RuntimeStatus& last_seen);

  // One ListImages; an answer that is younger than `age` is used again. Never null.
  Listing Ask(const base::Call& call, base::Duration age) PREFETCH_EXCLUDES(mutex_);

  // An entry of the list as `index` has it. Whether another image than that of the last poll runs here, the
  // runtime is asked for; `search`: also whether an image starts that came without a repo digest since, or
  // that is not unpacked. That may cost it a walk through its content, so not every pod may ask for it.
  plan::ImageState Entry(const base::Call& call, plan::ImageState entry, const image::LocalImageIndex& index,
                         bool search) const;
  // An image that is on no list; `search` as for an entry.
  plan::ImageState Unlisted(const base::Call& call, const image::Reference& reference,
                            const image::LocalImageIndex& index, bool search = true) const;

 private:
  // agent::Starts, without a walk through the runtime's content unless `search`.
  bool StartsNow(const base::Call& call, const std::string& id, const cri::ImageDetails& details,
                 bool search) const;
  // Not usable, if no container starts from it.
  void SetVerdicts(const base::Call& call, const std::string& id, const cri::ImageDetails& details,
                   bool search, plan::ImageState& state) const;
  // An image that has the name and no repo digest, if a container starts from it.
  const image::LocalImage* FindImported(const base::Call& call, const image::Reference& reference,
                                        const image::LocalImageIndex& index) const;

  cri::ImageService& images_;
  cri::ContentService& content_;
  const base::Clock& clock_;
  base::Mutex mutex_;
  Listing newest_ PREFETCH_GUARDED_BY(mutex_);
  base::TimePoint listed_at_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::agent
