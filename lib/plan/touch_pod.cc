// Judges the images of a touch pod by its status.
#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/foreign_text.h"
#include "base/text.h"
#include "plan/history.h"
#include "plan/reason.h"
#include "plan/touch.h"

namespace prefetch::plan {
namespace {

constexpr std::size_t kLongestWhy = 500;

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The retry rule of the agent's own pulls says what passes: these obstacles are retried without end. An error
// that nobody understands is no reason for that.
TouchObstacle ObstacleFor(image::ErrorClass error) {
  switch (RetryFor(ReasonFor(error))) {
    case Retry::kAtOnce:
    case Retry::kTransient:
      return error == image::ErrorClass::kUnknown || error == image::ErrorClass::kRuntimeError
                 ? TouchObstacle::kPullFailed
                 : TouchObstacle::kRegistryTrouble;
    case Retry::kSlow:
      return error == image::ErrorClass::kAccessDenied ? TouchObstacle::kNoNodeCredentials
                                                       : TouchObstacle::kPullFailed;
    case Retry::kHourly:
    case Retry::kNever:
      return TouchObstacle::kPullFailed;
  }
  std::abort();
}

// Returns "ErrImagePull: 401 Unauthorized" in one line. The text is another program's, so it is scrubbed and
// cut.
std::string Words(std::string_view reason, std::string_view message) {
  std::string text(reason);
  if (!text.empty() && !message.empty()) text += ": ";
  text += message;
  return base::ForeignText(text, kLongestWhy);
}

}  // namespace

ContainerEvaluation EvaluateContainer(const ContainerSeen& seen) {
  using Fate = ContainerFate;
  // A container that ended has run, so its image was there.
  if (!seen.terminated_reason.empty()) return {Fate::kPulled, {}};
  if (IsOneOf(seen.waiting_reason, {"", "ContainerCreating", "PodInitializing"})) return {};
  // Its image is there, and it cannot run: just as it should be (kubelet's rules K37 and K38).
  if (IsOneOf(seen.waiting_reason, {"CreateContainerError", "CreateContainerConfigError", "RunContainerError",
                                    "PreStartHookError", "StartError", "CrashLoopBackOff"})) {
    return {Fate::kPulled, {}};
  }
  TouchResult result{TouchObstacle::kPullFailed, Words(seen.waiting_reason, seen.waiting_message)};
  bool by_the_text = IsOneOf(seen.waiting_reason, {"ErrImagePull", "ImagePullBackOff"});
  if (by_the_text) result.obstacle = ObstacleFor(seen.error);
  if (seen.waiting_reason == "RegistryUnavailable") result.obstacle = TouchObstacle::kRegistryTrouble;
  return {Fate::kFailed, std::move(result)};
}

PodEvaluation EvaluatePod(const PodSeen& seen, base::Duration idle, base::Duration age) {
  PodEvaluation evaluation;
  bool any_status = false;
  // A pod without container statuses was not accepted by kubelet yet.
  bool undecided = seen.containers.empty();
  for (const ContainerSeen& container : seen.containers) {
    evaluation.images.push_back(EvaluateContainer(container));
    undecided = undecided || evaluation.images.back().fate == ContainerFate::kUndecided;
    any_status = any_status || evaluation.images.back().fate != ContainerFate::kUndecided;
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
