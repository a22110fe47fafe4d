// Decide: facts about one entry -> what to do about it. The heart; pure.
#pragma once

#include "base/clock.h"
#include "plan/desired.h"
#include "plan/history.h"
#include "plan/observation.h"
#include "plan/reason.h"
#include "plan/refresh.h"

namespace prefetch::plan {

enum class ActionKind {
  kKeep,  // nothing to do
  kPull,  // pull it as soon as there is a place
  kWait,  // look at it again at `until`
};

struct Action {
  ActionKind kind = ActionKind::kKeep;
  Reason reason = Reason::kFactsUnknown;
  base::TimePoint until = base::TimePoint::max();

  friend bool operator==(const Action&, const Action&) = default;
};

// Whether an entry concerns this node. If an entry has several scopes, the first value counts that one of
// them has.
enum class Selection {
  kApplies,
  kLabelsUnknown,  // the labels decide, and the agent has not read them
  kNotSelected,    // the labels are others than its nodeSelector's
  kOtherPlatform,
};
// `labels`: null if they are not known.
Selection SelectionOf(const DesiredImage& want, const image::Platform& node, const image::NodeLabels* labels);

// Is the image here as it should be, so that only kubelet, or a registry, may stand against it?
bool IsUsable(const Observation& seen);

// It is here, and would go with a tag that anybody may move: to be pulled in its own right, though nothing
// has to be fetched for it.
bool DependsOnTag(const Observation& seen, const History& past);

// For an entry that applies, by the node's state alone.
Action Decide(const Observation& seen, const History& past, base::TimePoint now);

// The same, with what its registry has said: an image that is here may be pulled again. It stays usable.
Action Decide(const Observation& seen, const History& past, const RefreshDecision& refresh,
              base::TimePoint now);

// The same while the entry's pull windows are closed: nothing starts before `opens_at`. Running pulls go on.
Action AwaitWindow(const Action& action, base::TimePoint opens_at);

}  // namespace prefetch::plan
