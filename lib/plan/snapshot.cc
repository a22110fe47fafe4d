#include "plan/snapshot.h"

#include <algorithm>
#include <cstdlib>

namespace prefetch::plan {

std::string_view PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kReady:
      return "Ready";
    case Phase::kProgressing:
      return "Progressing";
    case Phase::kFailing:
      return "Failing";
  }
  std::abort();
}

std::string_view PullStateName(PullState state) {
  switch (state) {
    case PullState::kNone:
      return "None";
    case PullState::kQueued:
      return "Queued";
    case PullState::kPulling:
      return "Pulling";
    case PullState::kUnpacking:
      return "Unpacking";
    case PullState::kWaiting:
      return "Waiting";
    case PullState::kDone:
      return "Done";
    case PullState::kFailed:
      return "Failed";
  }
  std::abort();
}

std::string_view PulledWithName(PulledWith with) {
  switch (with) {
    case PulledWith::kUnknown:
      return "Unknown";
    case PulledWith::kAnonymous:
      return "Anonymous";
    case PulledWith::kProvider:
      return "Provider";
    case PulledWith::kDockerConfig:
      return "DockerConfig";
    case PulledWith::kPullSecret:
      return "PullSecret";
  }
  std::abort();
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
