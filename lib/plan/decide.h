// Decide: maps the facts about one entry to the agent's next action for it. Pure.
#pragma once

#include <optional>

#include "base/clock.h"
#include "plan/desired.h"
#include "plan/freshness.h"
#include "plan/history.h"
#include "plan/observation.h"
#include "plan/reason.h"

namespace prefetch::plan {

enum class ActionKind {
  kKeep,  // nothing to do
  kPull,  // pull it as soon as there is a slot
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
Selection SelectionOf(const DesiredImage& desired, const image::Platform& node,
                      const image::NodeLabels* labels);

// Returns why no container of this node starts from the image: kWrongPlatform, kNotAnImage or kNotUnpacked.
std::optional<Reason> ObstacleOf(const Local& local);

// Returns true if the image is present and without an obstacle. Ignores kubelet's verdict and the registry.
bool IsUsable(const Observation& seen);

// Returns true if CRI-O has this digest only through a tag, and would drop it when the tag moves (C34). The
// agent then pulls the digest itself, which downloads no layer, so that the image stays.
bool DependsOnTag(const Observation& seen, const History& past);

// Decides by the node's state alone. The entry must apply to this node.
Action Decide(const Observation& seen, const History& past, base::TimePoint now);

// Takes the registry's answers into account as well: a present image may be pulled again, and stays usable
// meanwhile.
Action Decide(const Observation& seen, const History& past, const RefreshDecision& refresh,
              base::TimePoint now);

// Postpones `action` while the entry's pull windows are closed: no pull starts before `opens_at`. Running
// pulls go on.
Action AwaitWindow(const Action& action, base::TimePoint opens_at);

// ---- StartFacts: EvaluateStart decides whether one due pull may start, apart from the holds of disk and
// registry. Schedule (plan/schedule.h) enforces these, and gives the slots to some of these pulls. Pure.

struct StartFacts {
  bool fits = true;                 // MayFit: it could succeed with all the space that is left
  base::TimePoint disk_held_until;  // the disk is full
  base::TimePoint registry_held_until;
  Reason registry_failure = Reason::kUnreachable;  // newest failure of its registry; used while that is held
  bool preflight_waits = false;
  bool update = false;        // a usable image is here
  bool ready = false;         // readiness does not wait for the update
  bool updates_wait = false;  // the registry's last pulls are kept for missing images
  bool tried_before = false;
  base::TimePoint first_at;          // no first pull before (startJitter)
  bool lease_being_deleted = false;  // a lease of this name is being deleted
};

// A cause that keeps the pulls of several images from starting: trouble at their registry, or a full disk.
struct Hold {
  Reason reason;
  base::TimePoint until;

  friend bool operator==(const Hold&, const Hold&) = default;
};

// The decision about one start.
struct StartDecision {
  bool may_start = false;
  bool no_disk_space = false;
  std::optional<Hold> hold;  // of the registry or the disk, for status

  friend bool operator==(const StartDecision&, const StartDecision&) = default;
};

// Reports a hold of the disk or the registry (StartDecision::hold), and does not decide by it.
StartDecision EvaluateStart(const StartFacts& facts, base::TimePoint now);

// Returns true if the entry waits now and its next try is due within kSoonDue. Such an entry of an image that
// is here does not count.
bool IsDueSoon(const Action& action, bool usable, base::TimePoint now);

// ---- Pull windows: this node starts its pulls a while after a window has opened, so that a fleet does not
// ask its registry in one second. Pure.

// Facts about an entry with pull windows.
struct WindowFacts {
  WindowStates::Known window;                // of its windows
  base::Duration delay{};                    // by which this node pulls after the opening
  Action last;                               // the entry's action of the last turn
  std::optional<base::WallTime> last_opens;  // likewise
};
struct WindowDecision {
  Action action;
  std::optional<base::WallTime> opens;  // with the node's delay; none: open

  friend bool operator==(const WindowDecision&, const WindowDecision&) = default;
};
WindowDecision DecideByWindow(const Action& action, const WindowFacts& facts, base::TimePoint now,
                              base::WallTime wall);

}  // namespace prefetch::plan
