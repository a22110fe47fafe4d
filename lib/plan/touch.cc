#include "plan/touch.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/redactor.h"
#include "base/text.h"
#include "plan/history.h"
#include "plan/reason.h"

namespace prefetch::plan {

namespace {

using kubelet::VerdictReason;
using kubelet::VerdictResult;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr seconds kCountedBase{30};
constexpr minutes kCountedCap{2};
constexpr seconds kTransientBase{5};
constexpr minutes kTransientCap{5};
// A quota, a namespace or a role needs an administrator, and nothing reports when it is done.
constexpr minutes kHopelessPause{10};
// Time after which a touch that was given up is tried again, if that may help.
constexpr minutes kGivenUpPause{60};
// After this many tries, readiness does not wait for a transient obstacle to pass.
constexpr int kTransientUntilSettled = 6;

// Says how a touch is repeated: a few times, without end, or not before something changes.
enum class RetryKind { kCounted, kTransient, kNever };

RetryKind RetryKindFor(TouchObstacle obstacle) {
  using enum TouchObstacle;
  if (base::IsOneOf(obstacle, {kRegistryTrouble, kApiServer})) return RetryKind::kTransient;
  // Every further touch has the same result: kubelet has no secret for it, would record the account of the
  // touch pod, or never finds its records with this runtime (K18).
  const bool is_hopeless = base::IsOneOf(obstacle, {kPullSecret, kTokenProvider, kRecordsNeverMatch});
  return is_hopeless ? RetryKind::kNever : RetryKind::kCounted;
}

// Returns true if a record for the whole node would open the image. A kubelet that is newer than the rules is
// not among these: no known rule says what it does with a record (K51).
bool RecordLifts(VerdictReason reason) {
  using enum VerdictReason;
  // kSecretAmbiguous: the right secret then need not be known. kRecordUnreadable: a pull by kubelet writes
  // the record anew (K20).
  return base::IsOneOf(reason,
                       {kRecordedForOthers, kSecretAmbiguous, kRecordedForNobody, kRecordedUnderOtherName,
                        kPullInterrupted, kVerificationAlways, kNotAllowlisted, kRecordUnreadable});
}

bool IsClosed(const kubelet::Verdict& verdict) {
  // An unknown verdict may come from an unreadable file, and a record does not help there.
  bool known = verdict.result == VerdictResult::kRefused || verdict.result == VerdictResult::kPulls ||
               verdict.reason == VerdictReason::kSecretAmbiguous;
  return known && RecordLifts(verdict.reason);
}

}  // namespace

TouchNeed NeedOf(const DesiredImage& desired, const kubelet::Verdicts& verdicts) {
  switch (desired.open) {
    case Open::kNever:
      return TouchNeed::kNone;
    case Open::kAuto:
      return IsClosed(verdicts.For(desired.ready_for)) ? TouchNeed::kOpen : TouchNeed::kNone;
    // Judged for Never, the strictest policy. A preloaded image is open today, and the first pod with a
    // secret of its own would close it (K29), so a record is made before.
    case Open::kAlways:
      if (IsClosed(verdicts.never)) return TouchNeed::kOpen;
      return verdicts.never.result == VerdictResult::kStarts &&
                     verdicts.never.reason == VerdictReason::kPreloaded
                 ? TouchNeed::kKeepOpen
                 : TouchNeed::kNone;
  }
  std::abort();
}

// Another content starts anew: the failures were about the content before.
TouchHistory ForContent(TouchHistory past, const std::string& image_id, base::TimePoint now) {
  if (past.image_id == image_id && past.paused_image_id.empty()) return past;
  // The same content may be touched again, after PauseTouch: its attempts still count.
  if (past.image_id.empty() && !image_id.empty() && past.paused_image_id == image_id) {
    past.image_id = std::exchange(past.paused_image_id, {});
    return past;
  }
  TouchHistory fresh;
  fresh.image_id = image_id;
  fresh.not_before = now;
  return fresh;
}

TouchHistory PauseTouch(TouchHistory past) {
  if (!past.image_id.empty()) past.paused_image_id = std::exchange(past.image_id, {});
  return past;
}

TouchHistory AfterConditionsChanged(TouchHistory past, base::TimePoint now) {
  past.failures = 0;
  past.transient_failures = 0;
  past.not_before = now;
  past.obstacle = TouchObstacle::kNone;
  past.why.clear();
  return past;
}

TouchHistory AfterKubeletRestart(TouchHistory past, base::TimePoint now) {
  // Given-up touches stay given up. A kubelet that restarts in a loop would otherwise get new pods without
  // end.
  if (past.failures < kTouchesWithoutEffect) past.not_before = std::min(past.not_before, now);
  return past;
}

// The obstacle decides how the touch is repeated: counted failures give up after three, transient ones never,
// and hopeless ones at once.
TouchHistory AfterTouch(TouchHistory past, const TouchResult& result, base::TimePoint now,
                        base::WallTime wall, double random) {
  past.last_at = wall;
  past.obstacle = result.obstacle;
  past.why = result.why;
  past.opened = result.obstacle == TouchObstacle::kNone;
  if (past.opened) {
    past.failures = past.transient_failures = 0;
    past.not_before = now;
    return past;
  }
  switch (RetryKindFor(result.obstacle)) {
    case RetryKind::kNever:
      // This gives up at once.
      past.failures = std::max(past.failures, kTouchesWithoutEffect);
      break;
    case RetryKind::kCounted:
      past.failures++;
      past.transient_failures = 0;
      past.not_before =
          now + Spread(ExponentialBackoff(kCountedBase, 2 * (past.failures - 1), kCountedCap), random);
      break;
    case RetryKind::kTransient:
      past.transient_failures++;
      past.not_before =
          now +
          Spread(ExponentialBackoff(kTransientBase, past.transient_failures - 1, kTransientCap), random);
      break;
  }
  if (past.failures < kTouchesWithoutEffect) return past;
  // A tag that was gone may be back, and a registry may have given access: nothing on the node reports it.
  // All other causes change with something that the agent sees.
  const bool is_elsewhere =
      base::IsOneOf(result.obstacle, {TouchObstacle::kPullFailed, TouchObstacle::kNoNodeCredentials}) ||
      RetryKindFor(result.obstacle) == RetryKind::kTransient;
  past.not_before = is_elsewhere ? now + Spread(kGivenUpPause, random) : base::TimePoint::max();
  return past;
}

TouchPodHealth AfterKubeletRestart(TouchPodHealth past, base::TimePoint now) {
  past.not_before = std::min(past.not_before, now);
  return past;
}

TouchPodHealth AfterPod(TouchPodHealth past, const TouchResult& result, base::TimePoint now, double random) {
  if (result.obstacle == TouchObstacle::kNone) return {.not_before = now};
  bool passing = RetryKindFor(result.obstacle) == RetryKind::kTransient;
  // Only failures of one kind in a row count: an outage of the API server says nothing about a quota.
  if (passing != (RetryKindFor(past.obstacle) == RetryKind::kTransient)) past.failures = 0;
  past.failures++;
  past.obstacle = result.obstacle;
  past.why = result.why;
  base::Duration wait = passing ? ExponentialBackoff(kTransientBase, past.failures - 1, kTransientCap)
                                : ExponentialBackoff(kCountedBase, 2 * (past.failures - 1), kCountedCap);
  if (IsLongObstacle(past)) wait = kHopelessPause;
  past.not_before = now + Spread(wait, random);
  return past;
}

bool IsLongObstacle(const TouchPodHealth& pod_health) {
  return pod_health.obstacle != TouchObstacle::kNone &&
         RetryKindFor(pod_health.obstacle) != RetryKind::kTransient &&
         pod_health.failures >= kTouchesWithoutEffect;
}

// A touch that runs is shown as such, whatever the verdict is by now, because its result is still to come.
TouchStatus StatusOf(const TouchFacts& facts, base::TimePoint now, base::WallTime wall) {
  const TouchHistory& past = facts.past;
  TouchStatus status{.attempts = past.attempts, .last_at = past.last_at};
  if (facts.running) {
    status.state = TouchState::kRunning;
    status.settled = false;
    return status;
  }
  if (facts.need == TouchNeed::kNone) {
    status.state = past.opened ? TouchState::kDone : TouchState::kNone;
    return status;
  }
  // An obstacle of all pods is the reason for the entry, too, unless the entry was given up for a reason of
  // its own.
  bool of_all_pods =
      facts.pod_health.obstacle != TouchObstacle::kNone && past.failures < kTouchesWithoutEffect;
  status.obstacle = of_all_pods ? facts.pod_health.obstacle : past.obstacle;
  status.why = of_all_pods ? facts.pod_health.why : past.why;
  bool given_up = past.failures >= kTouchesWithoutEffect || IsLongObstacle(facts.pod_health);
  base::TimePoint next = std::max(past.not_before, facts.pod_health.not_before);
  status.state = given_up ? TouchState::kIneffective : next > now ? TouchState::kWaiting : TouchState::kDue;
  status.settled = given_up || past.transient_failures >= kTransientUntilSettled ||
                   facts.pod_health.failures >= kTransientUntilSettled;
  if (next > now && next != base::TimePoint::max()) {
    status.next_attempt_at = wall + std::chrono::duration_cast<base::WallTime::duration>(next - now);
  }
  return status;
}

std::vector<std::size_t> NextTouch(std::vector<TouchCandidate> due, std::size_t most_that_failed) {
  std::stable_sort(due.begin(), due.end(), [](const TouchCandidate& a, const TouchCandidate& b) {
    // Closed images first: pods fail for them now. Those that only might be closed can wait.
    if (a.need != b.need) return a.need == TouchNeed::kOpen;
    if ((a.failures > 0) != (b.failures > 0)) return b.failures > 0;
    return a.priority > b.priority;
  });
  std::vector<std::size_t> batch;
  if (due.empty()) return batch;
  // kubelet pulls for one container after the other, so a slow failure would hold up the images behind it.
  bool failed = due.front().failures > 0;
  std::size_t most = failed ? most_that_failed : kMostImagesOfATouch;
  for (const TouchCandidate& one : due) {
    if (batch.size() == most) break;
    if ((one.failures > 0) == failed) batch.push_back(one.entry);
  }
  return batch;
}

// Judges the images of a touch pod by its status.

namespace {

constexpr std::size_t kLongestWhy = 500;

// The retry rule of the agent's own pulls says what passes: these obstacles are retried without end. An error
// that nobody understands is no reason for that.
TouchObstacle ObstacleFor(image::ErrorClass error) {
  using image::ErrorClass;
  if (error == ErrorClass::kAccessDenied) return TouchObstacle::kNoNodeCredentials;
  const bool passes = !IsRetriedLate(ReasonFor(error)) &&
                      !base::IsOneOf(error, {ErrorClass::kUnknown, ErrorClass::kRuntimeError});
  return passes ? TouchObstacle::kRegistryTrouble : TouchObstacle::kPullFailed;
}

// Returns "ErrImagePull: 401 Unauthorized" in one line. The text is another program's, so it is scrubbed and
// cut.
std::string Words(std::string_view reason, std::string_view message) {
  std::string text(reason);
  if (!text.empty() && !message.empty()) text += ": ";
  text += message;
  return base::SanitizedText(text, kLongestWhy);
}

}  // namespace

ContainerEvaluation EvaluateContainer(const ContainerObservation& seen) {
  using Fate = ContainerOutcome;
  const std::string_view reason = seen.waiting_reason;
  // A container that ended has run, so its image was there.
  if (!seen.terminated_reason.empty()) return {Fate::kPulled, {}};
  if (base::IsOneOf(reason, {"", "ContainerCreating", "PodInitializing"})) return {};
  // Its image is there, and it cannot run: just as it should be (kubelet's rules K37 and K38).
  if (base::IsOneOf(reason, {"CreateContainerError", "CreateContainerConfigError", "RunContainerError",
                             "PreStartHookError", "StartError", "CrashLoopBackOff"})) {
    return {Fate::kPulled, {}};
  }
  TouchResult result{TouchObstacle::kPullFailed, Words(reason, seen.waiting_message)};
  bool by_the_text = base::IsOneOf(reason, {"ErrImagePull", "ImagePullBackOff"});
  if (by_the_text) result.obstacle = ObstacleFor(seen.error);
  if (reason == "RegistryUnavailable") result.obstacle = TouchObstacle::kRegistryTrouble;
  return {Fate::kFailed, std::move(result)};
}

PodEvaluation EvaluatePod(const PodObservation& seen, base::Duration idle, base::Duration age) {
  PodEvaluation evaluation;
  bool any_status = false;
  // A pod without container statuses was not accepted by kubelet yet.
  bool undecided = seen.containers.empty();
  for (const ContainerObservation& container : seen.containers) {
    evaluation.images.push_back(EvaluateContainer(container));
    undecided = undecided || evaluation.images.back().outcome == ContainerOutcome::kUndecided;
    any_status = any_status || evaluation.images.back().outcome != ContainerOutcome::kUndecided;
  }
  bool ended = seen.phase == "Failed" || seen.phase == "Succeeded";
  bool late = idle >= kTouchIdleLimit || age >= kTouchLimit;
  evaluation.over = !undecided || ended || seen.gone || late;
  // If any container got a fate, kubelet ran the pod. The undecided ones are then judged by their verdicts
  // alone.
  if (!evaluation.over || any_status) return evaluation;
  std::string said = Words(seen.reason, seen.message);
  evaluation.pod.obstacle = TouchObstacle::kPodNeverRan;
  evaluation.pod.why = seen.gone ? "another client deleted the touch pod before kubelet ran it"
                       : !said.empty()
                           ? "kubelet refused the touch pod: " + said
                           : "kubelet did not run the touch pod within " +
                                 std::to_string(std::chrono::seconds(kTouchIdleLimit).count()) + " s";
  return evaluation;
}

}  // namespace prefetch::plan
