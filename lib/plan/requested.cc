#include "plan/requested.h"

#include <algorithm>
#include <cstdlib>

namespace prefetch::plan {
namespace {

// After this many transient failures (an unreachable registry, say), clients need not wait: about a minute's
// worth.
constexpr int kTriesThatCount = 6;

}  // namespace

bool IsWorthAnotherCheck(image::RegistryAnswerKind kind) {
  using image::RegistryAnswerKind;
  switch (kind) {
    case RegistryAnswerKind::kTagMissing:
    case RegistryAnswerKind::kAccessDenied:
    case RegistryAnswerKind::kRateLimited:
    case RegistryAnswerKind::kUnreachable:
    case RegistryAnswerKind::kServerError:
      return true;
    case RegistryAnswerKind::kSame:
    case RegistryAnswerKind::kMoved:
    case RegistryAnswerKind::kIndeterminate:
      return false;
  }
  std::abort();
}

bool AwaitsRetry(const ImageState& image) {
  if (!image.applies) return false;
  const PullState state = image.pull.state;
  if (state == PullState::kWaiting || state == PullState::kFailed) return true;
  if (image.pull.next_attempt_at) return true;  // its pull waits for the window
  return image.registry && image.registry->answer && IsWorthAnotherCheck(*image.registry->answer);
}

Action DecideRequested(const Observation& seen, const History& past, base::TimePoint requested_until,
                       base::TimePoint now) {
  // Nobody waits any more, so nothing begins.
  if (now >= requested_until && !IsUsable(seen)) {
    return {.kind = ActionKind::kKeep, .reason = past.last_failure.value_or(Reason::kImageAbsent)};
  }
  return Decide(seen, past, now);
}

base::TimePoint ForgetRequestedAt(const History& past, base::TimePoint requested_until) {
  // `not_before` may be max() after a permanent failure, hence the limit.
  return std::max(requested_until,
                  std::min<base::TimePoint>(past.not_before, requested_until + kRequestMemory));
}

const ImageState* PulledFor(const Snapshot& snapshot, const image::Reference& reference,
                            base::TimePoint requested_at) {
  // An entry of the list is pulled anyway, so it answers for the request, too.
  if (const ImageState* listed = FindImage(snapshot, reference)) {
    // The request may end the back-off of an older failure.
    const bool is_old =
        StateOfRequested(*listed) == RequestedState::kFailed && listed->requested_at < requested_at;
    return is_old ? nullptr : listed;
  }
  auto found =
      std::find_if(snapshot.requested.begin(), snapshot.requested.end(), [&](const ImageState& image) {
        return image.want->reference == reference && image.requested_at >= requested_at;
      });
  return found == snapshot.requested.end() ? nullptr : &*found;
}

RequestedState StateOfRequested(const ImageState& image) {
  if (image.usable) return RequestedState::kHere;
  // A pull does not repair a present image that is unusable for these reasons.
  if (!image.applies || image.reason == Reason::kWrongPlatform) return RequestedState::kFailed;
  if (image.phase != Phase::kFailing) return RequestedState::kPending;
  // Room on the disk may come at any time or never. A client that waits should hear of it now.
  if (image.reason == Reason::kDiskPressure) return RequestedState::kFailed;
  // Its next try is due, so the last failure is not the last word.
  if (image.pull.state == PullState::kQueued) return RequestedState::kPending;
  bool tried_enough = image.pull.attempts >= kTriesThatCount;
  return SettlesAtOnce(image.reason) || tried_enough ? RequestedState::kFailed : RequestedState::kPending;
}

}  // namespace prefetch::plan
