#include "agent/answers/inquiry_pull.h"

#include <algorithm>
#include <utility>

#include "plan/history.h"
#include "status/words.h"

namespace prefetch::agent {
namespace {

using status::CheckAnswer;

// "12 of 680 MB, 38 MB/s, about 7 s left"; empty where it cannot be seen.
std::string HowFar(const plan::PullStatus& pull) {
  if (!pull.bytes_known) return {};
  return status::TransferWords(pull.bytes_done, pull.bytes_total,
                               static_cast<std::uint64_t>(pull.bytes_per_second));
}

std::string Progress(const plan::ImageState& image) {
  switch (image.pull.state) {
    case plan::PullState::kPulling:
    case plan::PullState::kUnpacking: {
      std::string far = HowFar(image.pull);
      return "it is being pulled" + (far.empty() ? "" : ": " + far);
    }
    case plan::PullState::kWaiting:
      return "pulling it has failed and is tried again: " + image.message;
    case plan::PullState::kNone:
    case plan::PullState::kQueued:
    case plan::PullState::kDone:
    case plan::PullState::kFailed:
      break;
  }
  return "its pull waits for its turn";
}

// Would a pod that pulls by itself fare no better?
bool StandsForPods(const status::CheckQuestion& question, plan::Reason reason) {
  if (question.policy == image::PullPolicy::kNever) return true;  // it does not pull
  bool own_credentials = question.identity != status::CheckIdentity{};
  if (reason == plan::Reason::kAccessDenied || reason == plan::Reason::kBadCredentialFormat) {
    return !own_credentials;
  }
  return plan::IsForGood(reason);
}

}  // namespace

const plan::ImageState* PulledFor(const plan::Snapshot& snapshot, const image::Reference& reference,
                                  base::TimePoint asked_at) {
  if (const plan::ImageState* listed = plan::FindImage(snapshot, reference)) return listed;
  auto found = std::find_if(snapshot.asked.begin(), snapshot.asked.end(), [&](const plan::AskedImage& asked) {
    return asked.state.want->reference == reference && asked.asked_at >= asked_at;
  });
  return found == snapshot.asked.end() ? nullptr : &found->state;
}

CheckAnswer PullPending(CheckAnswer answer, const plan::ImageState* image) {
  answer.pending = true;
  answer.result = "Unknown";
  answer.reason = image == nullptr ? "Queued" : plan::ReasonName(image->reason);
  answer.message = image == nullptr ? "its pull waits for its turn" : Progress(*image);
  return answer;
}

CheckAnswer PullFailed(CheckAnswer answer, const status::CheckQuestion& question,
                       const plan::ImageState& image) {
  answer.pending = false;
  answer.result = StandsForPods(question, image.reason) ? "Refused" : "Unknown";
  answer.reason = plan::ReasonName(image.reason);
  answer.message = "it is not on the node, and this node could not pull it: " + image.message;
  return answer;
}

}  // namespace prefetch::agent
