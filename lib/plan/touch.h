// Touch: a pod on this node that makes kubelet pull present images with the node's own credentials, or with
// none. kubelet then records these images as usable by every pod of the node (kubelet's rules K36 to K40).
// The pod's containers name the images and can never run. Layers that are here are not downloaded. The pod's
// status does not count, only the verdict that is read afterwards.
//
// These functions decide which images to touch and when, and judge the results. Pure;
// agent/cluster/touch_pods talks to the API server.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/enum_name.h"
#include "image/pull_error.h"
#include "kubelet/verdict.h"
#include "plan/desired.h"

namespace prefetch::plan {

// TouchStatus: the state of one entry's touches, and the words for it.

enum class TouchState {
  kNone,         // nothing to touch, or touching is off
  kDue,          // waits for its turn among the touches
  kRunning,      // a pod that names it is there, or its effect is being read
  kWaiting,      // had no effect; again at next_attempt_at
  kDone,         // opened by a touch of this agent, and open since
  kIneffective,  // no further touch would help; `obstacle` and `why` say what does
};

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

constexpr std::size_t kMostImagesOfATouch = 20;
// Number of touches of the same content without effect after which the agent gives up, until something
// changes, or for an hour if kubelet's pull failed.
constexpr int kTouchesWithoutEffect = 3;
// Time for which a pod that is not full waits for more images that are on their way.
constexpr std::chrono::seconds kTouchBatchDelay{5};
// kubelet is not running the pod if its status has not changed for this long.
constexpr std::chrono::seconds kTouchIdleLimit{60};
// Time limit of a touch in all; the pod's own activeDeadlineSeconds is a little longer.
constexpr std::chrono::seconds kTouchLimit{280};
// Time to wait for the verdicts after the pod's end: a changed one is shown after 3 s (verdict_debounce.h).
constexpr std::chrono::seconds kTouchStableAfter{6};

// The reason to touch an image.
enum class TouchNeed {
  kNone,
  kKeepOpen,  // open by no record: the first pod with a secret of its own would close it
  kOpen,      // closed
};
// Returns the need for a touch of an image that is here and usable. An image that is exempt for good never
// needs one, nor does one whose verdict is not firm.
TouchNeed NeedOf(const DesiredImage& desired, const kubelet::Verdicts& verdicts);

// The touches so far of one entry. A value.
struct TouchHistory {
  std::string image_id;         // that all this is about; empty: none may be touched now
  std::string paused_image_id;  // what all this was about, while none may be touched
  int attempts = 0;
  int failures = 0;                               // in a row, those that count
  int transient_failures = 0;                     // in a row, those that do not
  base::TimePoint not_before;                     // max(): not before something changes
  TouchObstacle obstacle = TouchObstacle::kNone;  // of the newest touch; none: it had its effect
  std::string why;
  bool opened = false;  // by a touch of ours
  std::optional<base::WallTime> last_at;
};

// The entry's name is another content now (or none): attempts for the old one do not count.
TouchHistory ForContent(TouchHistory past, const std::string& image_id, base::TimePoint now);
// The content is still there, and is not to be touched just now: it is pulled again, say. Its attempts count
// when it is.
TouchHistory PauseTouch(TouchHistory past);
// Credentials or kubelet's settings have changed: every touch is worth a try now, also one that was given up.
// Its failures are forgotten.
TouchHistory AfterConditionsChanged(TouchHistory past, base::TimePoint now);

// The reason for the wait may have gone with the old kubelet process. Failures are still counted, so that a
// kubelet that restarts again and again makes no more pods than another one.
TouchHistory AfterKubeletRestart(TouchHistory past, base::TimePoint now);

struct TouchResult {
  TouchObstacle obstacle = TouchObstacle::kNone;  // none: the verdict says that it is open now
  std::string why;
};
// `random` is uniform in [0, 1). An obstacle of the pod is not the entry's: see AfterPod.
TouchHistory AfterTouch(TouchHistory past, const TouchResult& result, base::TimePoint now,
                        base::WallTime wall, double random);

// Back-off that applies to every touch pod (quota, admission, API server). A value.
struct TouchPodHealth {
  int failures = 0;  // in a row
  base::TimePoint not_before;
  TouchObstacle obstacle = TouchObstacle::kNone;
  std::string why;
};
// kubelet has restarted: the next touch pod may be tried at once.
TouchPodHealth AfterKubeletRestart(TouchPodHealth past, base::TimePoint now);
// A pod that came to nothing as a whole; obstacle kNone: one that kubelet has gone through.
TouchPodHealth AfterPod(TouchPodHealth past, const TouchResult& result, base::TimePoint now, double random);
// Returns true if touch pods have failed so often for one obstacle that waiting is not worth it. They are
// still tried, every ten minutes.
bool IsLongObstacle(const TouchPodHealth& pod_health);

// Inputs of StatusOf.
struct TouchFacts {
  TouchNeed need = TouchNeed::kNone;
  bool running = false;  // it is in the pod that is there, or what that brought is not said yet
  const TouchHistory& past;
  const TouchPodHealth& pod_health;
};
// Returns the state of the touches of one entry, as status documents show it.
TouchStatus StatusOf(const TouchFacts& facts, base::TimePoint now, base::WallTime wall);

// A spelling of an entry that is to be touched now.
struct TouchCandidate {
  std::size_t entry = 0;  // the caller's number for it
  TouchNeed need = TouchNeed::kOpen;
  int priority = 0;
  int failures = 0;  // and passing ones
};
// The entries of the next pod, at most kMostImagesOfATouch: closed ones before those that only might be
// closed, and never one that has failed before beside one that has not: kubelet pulls for one container after
// the other, so a slow failure would hold up the rest.
std::vector<std::size_t> NextTouch(std::vector<TouchCandidate> due,
                                   std::size_t most_that_failed = kMostImagesOfATouch);

// kubelet's status of one container of the pod.
struct ContainerObservation {
  std::string waiting_reason, waiting_message, terminated_reason;
  image::ErrorClass error = image::ErrorClass::kUnknown;  // what waiting_message means
};
enum class ContainerOutcome { kUndecided, kPulled, kFailed };
struct ContainerEvaluation {
  ContainerOutcome outcome = ContainerOutcome::kUndecided;
  TouchResult result;  // of kFailed
};
// Judges a container by kubelet's status: whether its image was pulled, or why not.
ContainerEvaluation EvaluateContainer(const ContainerObservation& seen);

struct PodObservation {
  bool gone = false;
  std::string phase, reason, message;
  std::vector<ContainerObservation> containers;  // in the order of the images; empty: no status yet
};
struct PodEvaluation {
  bool over = false;                        // nothing more is to be learnt from it
  TouchResult pod;                          // an obstacle of the pod as a whole
  std::vector<ContainerEvaluation> images;  // as PodObservation::containers
};
// `idle`: since it said something new; `age`: since it was created.
PodEvaluation EvaluatePod(const PodObservation& seen, base::Duration idle, base::Duration age);

}  // namespace prefetch::plan
