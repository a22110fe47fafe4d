// Facts about one entry of the list -> its state, reason and message. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "image/reference.h"
#include "plan/decide.h"
#include "plan/disk_budget.h"
#include "plan/freshness.h"
#include "plan/limits.h"
#include "plan/snapshot.h"
#include "plan/verdict_debounce.h"

namespace prefetch::plan {

// All that is known and decided about one entry from one turn of the loop to the next.
struct EntryState {
  base::Shared<DesiredImage> desired;  // the list's own
  Selection selection = Selection::kApplies;
  Observation observed;
  History history;
  DebouncedVerdict verdict{};                // of kubelet's, where there is one
  base::Shared<TouchStatus> touch_status{};  // kNone where touching is off
  base::Shared<Freshness> freshness{};       // the registry's answers, and
  RefreshDecision refresh{};                 // their effect, where it is asked
  Action action;
  // While its pull windows are closed and nothing asks for it.
  std::optional<base::WallTime> window_opens{};
  bool no_disk_space = false;         // the disk rule holds it back
  bool waits_for_disk_space = false;  // it could start, but for the room that running pulls may still need
  // Why nothing starts for it although it is due (StartDecision::hold). None: its turn.
  std::optional<Hold> hold{};
};

// All that decides the state of one entry. References and pointers outlive the call.
struct EntryFacts {
  const EntryState& entry;
  bool labels_pending = false;                 // of the Node; with kLabelsUnknown
  const ObservedProgress* progress = nullptr;  // of the pull that runs; null: none does
  bool has_kubelet = false;                    // else presence is the verdict
  bool learning = false;                       // KubeletStatus::learning
  DiskSpace disk{};
  Limits limits{};             // of the disk rule
  bool asks_registry = false;  // `entry.refresh` counts
  bool looking_up = false;     // its credentials are looked up; nothing else holds it back
  std::string pin_problem{};   // Pinning::ProblemOf
};

// Returns the message of an obstacle (ObstacleOf) of this image.
std::string ObstacleMessage(Reason obstacle, const Local& local);

// Copies what the runtime says of the image that is here; whether it counts as present is the caller's rule.
void SetLocal(const Local& local, ImageState& state);

// Returns the state of an entry as the Snapshot shows it.
ImageState EvaluateImage(const EntryFacts& facts, base::TimePoint now, base::WallTime wall);

// The verdict on a node without a kubelet, and its reason.
struct PresenceVerdict {
  kubelet::VerdictResult result = kubelet::VerdictResult::kUnknown;
  Reason reason = Reason::kFactsUnknown;
};
// Returns how a pod of this policy fares where no kubelet is (--kubelet=none): a runtime alone starts what is
// usable. There are no records, so nothing refuses it.
PresenceVerdict VerdictWithoutKubelet(const ImageState& image, image::PullPolicy policy);

// The facts about an image that decide whether pods of a policy can rely on it.
struct PolicyFacts {
  bool usable = false;                           // as ImageState::usable
  std::optional<kubelet::VerdictResult> result;  // kubelet's verdict for the policy; nullopt: not known
  bool agrees = false;                           // the registry, lately
};
// Returns true if pods of this policy can rely on the image.
bool IsReadyFor(image::PullPolicy policy, const PolicyFacts& facts);

// May pods of this policy rely on the image? Never: they start without the registry. IfNotPresent: at most a
// manifest check with the pod's own credentials remains. Always: the registry agreed lately.
bool IsReadyFor(const ImageState& image, image::PullPolicy policy, bool has_kubelet);

// Returns the state of the entry's registry checks, with a sentence for operators. `local` is the present
// image; null if it is absent.
RegistryView ViewOf(const DesiredImage& desired, const Local* local, const Freshness& past,
                    const RefreshDecision& decision, base::TimePoint now, base::WallTime wall);

}  // namespace prefetch::plan
