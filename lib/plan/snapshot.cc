#include "plan/snapshot.h"

#include <algorithm>

namespace prefetch::plan {

bool KeepsFailing(bool settled, std::optional<Phase> phase) {
  return settled && phase == Phase::kFailing;
}

const ImageState* FindImage(const Snapshot& snapshot, const image::Reference& reference) {
  auto found = std::find_if(snapshot.images.begin(), snapshot.images.end(),
                            [&](const ImageState& image) { return image.desired->reference == reference; });
  return found == snapshot.images.end() ? nullptr : &*found;
}

const kubelet::Verdicts* VerdictsOfPod(const ImageState& image, const PodProfile& pod) {
  // Without `spellings` there is one pod, or the image is absent. In both cases `verdicts` hold for all pods.
  if (!image.spellings) return image.verdicts.get();
  auto found =
      std::find_if(image.spellings->begin(), image.spellings->end(), [&](const SpellingVerdicts& one) {
        return one.image == pod.reference.written() && one.ready_as == pod.ready_as;
      });
  return found == image.spellings->end() ? nullptr : found->verdicts.get();
}

}  // namespace prefetch::plan
