// TouchStatus: the state of one entry's touches, and the words for it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace prefetch::plan {

enum class TouchState {
  kNone,         // nothing to touch, or touching is off
  kDue,          // waits for its turn among the touches
  kRunning,      // a pod that names it is there, or its effect is being read
  kWaiting,      // had no effect; again at next_attempt_at
  kDone,         // opened by a touch of this agent, and open since
  kIneffective,  // no further touch would help; `obstacle` and `why` say what does
};
std::string_view TouchStateName(TouchState state);  // "Ineffective"

// Why a touch had no effect. A closed list: a field of JSON and a label of metrics.
enum class TouchObstacle {
  kNone,
  // These are about the image.
  kNoNodeCredentials,  // the registry refused the node's own credentials, or it has none
  kPullSecret,         // we pulled it with a mounted pull secret, which kubelet does not have
  kTokenProvider,    // a matching credential provider has tokenAttributes: the record would name the touch's
                     // own service account and shut out everybody else
  kRegistryTrouble,  // the registry could not be reached, or failed: passing
  kPullFailed,       // kubelet's pull failed in another way
  kNotRecorded,      // kubelet went through the pod, and its records say the same as before
  kRecordsNeverMatch,  // with this runtime kubelet's records never match (K18)
  // These are about the pod as a whole.
  kAdmission,         // admission refused the pod, or changed what matters in it
  kQuota,             // the namespace's quota is used up
  kNamespaceMissing,  // deploy/touch is not applied
  kForbidden,         // our role lacks a right
  kApiServer,         // the API server could not be reached, or failed: passing
  kPodNeverRan,       // kubelet did not take the pod up, or refused it
};
inline constexpr TouchObstacle kLastTouchObstacle = TouchObstacle::kPodNeverRan;
std::string_view TouchObstacleName(TouchObstacle obstacle);  // "NoNodeCredentials"; "None"

struct TouchStatus {
  TouchState state = TouchState::kNone;
  int attempts = 0;  // pods that named this content, since the agent's start
  TouchObstacle obstacle = TouchObstacle::kNone;
  std::string why;  // of the newest touch without effect; one sentence, untrusted words in it are bounded
  std::optional<base::WallTime> last_at;
  std::optional<base::WallTime> next_attempt_at;
  bool settled = true;  // another touch is not worth waiting for

  friend bool operator==(const TouchStatus&, const TouchStatus&) = default;
};

}  // namespace prefetch::plan
