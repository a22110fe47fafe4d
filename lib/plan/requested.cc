#include "plan/requested.h"

#include <algorithm>

namespace prefetch::plan {
namespace {

// Clients need not wait after so many transient failures (an unreachable registry): about a minute's worth.
constexpr int kTriesThatCount = 6;

}  // namespace

Action DecideRequested(const Observation& seen, const History& past, base::TimePoint asked_until,
                       base::TimePoint now) {
  if (now >= asked_until && !IsUsable(seen)) {
    return {.kind = ActionKind::kKeep, .reason = past.last_failure.value_or(Reason::kImageAbsent)};
  }
  return Decide(seen, past, now);
}

base::TimePoint ForgetRequestedAt(const History& past, base::TimePoint asked_until) {
  return std::max(asked_until, std::min<base::TimePoint>(past.not_before, asked_until + kAskedMemory));
}

const ImageState* PulledFor(const Snapshot& snapshot, const image::Reference& reference,
                            base::TimePoint asked_at) {
  if (const ImageState* listed = FindImage(snapshot, reference)) return listed;
  auto found = std::find_if(snapshot.asked.begin(), snapshot.asked.end(), [&](const RequestedImage& asked) {
    return asked.state.want->reference == reference && asked.asked_at >= asked_at;
  });
  return found == snapshot.asked.end() ? nullptr : &found->state;
}

RequestedState StateOfRequested(const ImageState& image) {
  if (image.usable) return RequestedState::kHere;
  // A pull does not repair a present image that is unusable for these reasons.
  if (!image.applies || image.reason == Reason::kWrongPlatform) return RequestedState::kFailed;
  if (image.phase != Phase::kFailing) return RequestedState::kPending;
  if (image.reason == Reason::kDiskPressure) return RequestedState::kFailed;
  // Its turn has come again, whatever came of the last one.
  if (image.pull.state == PullState::kQueued) return RequestedState::kPending;
  bool tried_enough = image.pull.attempts >= kTriesThatCount;
  return IsPermanent(image.reason) || tried_enough ? RequestedState::kFailed : RequestedState::kPending;
}

}  // namespace prefetch::plan
