#include "plan/decide.h"

#include <algorithm>
#include <chrono>

#include "plan/schedule.h"

namespace prefetch::plan {

namespace {

Action Keep(Reason reason) {
  return {.kind = ActionKind::kKeep, .reason = reason};
}

// Returns a pull, or the wait that earlier failures demand. The reported reason of a wait is the failure,
// since that is what an operator can act on.
Action PullWhenAllowed(Reason due, const History& past, base::TimePoint now) {
  if (now < past.not_before) {
    return {.kind = ActionKind::kWait, .reason = past.last_failure.value_or(due), .until = past.not_before};
  }
  return {.kind = ActionKind::kPull, .reason = due};
}

Selection SelectionOf(const NodeScope& scope, const image::Platform& node, const image::NodeLabels* labels) {
  const bool runs = scope.platforms.empty() || std::any_of(scope.platforms.begin(), scope.platforms.end(),
                                                           [&](const image::Platform& platform) {
                                                             return image::CanRun(node, platform);
                                                           });
  if (!runs) return Selection::kOtherPlatform;
  if (scope.node_selector.empty()) return Selection::kApplies;
  if (labels == nullptr) return Selection::kLabelsUnknown;
  return image::Selects(scope.node_selector, *labels) ? Selection::kApplies : Selection::kNotSelected;
}

}  // namespace

Selection SelectionOf(const DesiredImage& desired, const image::Platform& node,
                      const image::NodeLabels* labels) {
  Selection best = SelectionOf(desired.nodes, node, labels);
  for (const NodeScope& scope : desired.other_nodes) best = std::min(best, SelectionOf(scope, node, labels));
  return best;
}

std::optional<Reason> ObstacleOf(const Local& local) {
  if (!local.runs_here) return Reason::kWrongPlatform;
  if (local.artifact) return Reason::kNotAnImage;
  if (!local.unpacked) return Reason::kNotUnpacked;
  return std::nullopt;
}

bool IsUsable(const Observation& seen) {
  return seen.known && seen.local && !ObstacleOf(*seen.local);
}

// C34: CRI-O drops a digest that a tag brought once the tag moves. Pulled in its own right, the digest stays.
// The pull of this process is recognised by the image id.
bool DependsOnTag(const Observation& seen, const History& past) {
  return IsUsable(seen) && seen.local->found_by_tag && seen.local->id != past.pulled_id;
}

Action Decide(const Observation& seen, const History& past, base::TimePoint now) {
  // Before the runtime's first answer an absent image cannot be told from a present one. A pull now would
  // repeat what is there.
  if (!seen.known) return {.kind = ActionKind::kWait, .reason = Reason::kFactsUnknown};
  if (!seen.local) return PullWhenAllowed(Reason::kImageAbsent, past, now);
  const std::optional<Reason> obstacle = ObstacleOf(*seen.local);
  if (!obstacle) return Keep(Reason::kPresent);
  // A pull may repair an image that another client pulled, but not the result of the agent's own pull.
  if (obstacle == Reason::kWrongPlatform && seen.local->id == past.pulled_id) return Keep(*obstacle);
  return PullWhenAllowed(*obstacle, past, now);
}

Action Decide(const Observation& seen, const History& past, const RefreshDecision& refresh,
              base::TimePoint now) {
  // An unusable image is due anyway, for its own reason, so the registry's news is for usable ones only.
  if (refresh.pull && IsUsable(seen)) return PullWhenAllowed(refresh.pull_reason, past, now);
  // Such a pull has no reason of its own: status shows Queued.
  if (DependsOnTag(seen, past)) return PullWhenAllowed(Reason::kQueued, past, now);
  return Decide(seen, past, now);
}

Action AwaitWindow(const Action& action, base::TimePoint opens_at) {
  // A back-off that ends before the window opens is over by then.
  const bool starts =
      action.kind == ActionKind::kPull || (action.kind == ActionKind::kWait && action.until < opens_at);
  if (!starts) return action;
  return {.kind = ActionKind::kWait, .reason = Reason::kOutsidePullWindow, .until = opens_at};
}

StartDecision EvaluateStart(const StartFacts& facts, base::TimePoint now) {
  StartDecision decision{.no_disk_space = !facts.fits};
  // If both hold the entry, the registry's trouble is reported rather than the disk's. `hold` is for status;
  // Schedule enforces it.
  const base::TimePoint until = std::max(facts.disk_held_until, facts.registry_held_until);
  if (now < facts.disk_held_until) decision.hold = {Reason::kDiskFull, until};
  if (now < facts.registry_held_until) decision.hold = {facts.registry_failure, until};
  // An update that readiness waits for may use one of the last pulls.
  const bool waits_as_update = facts.update && facts.ready && !facts.preflight_waits && facts.updates_wait;
  // startJitter spreads the first pulls of a fleet. A pull that was tried, or that a client waits for, is no
  // part of that wave.
  const bool too_early = !facts.tried_before && !facts.preflight_waits && now < facts.first_at;
  // While a lease of this name is being deleted, a new pull under it would lose its bytes.
  decision.may_start = facts.fits && !waits_as_update && !too_early && !facts.lease_being_deleted;
  return decision;
}

bool IsDueSoon(const Action& action, bool usable, base::TimePoint now) {
  return action.kind == ActionKind::kWait && !usable && action.until <= now + kSoonDue;
}

WindowDecision DecideByWindow(const Action& action, const WindowFacts& facts, base::TimePoint now,
                              base::WallTime wall) {
  // Every window that is closed opens within two weeks.
  if (!facts.window.state.open) {
    return {.action = AwaitWindow(action, facts.window.changes_at + facts.delay),
            .opens = facts.window.state.changes_at + facts.delay};
  }
  // The window may have just opened, and the turn of this node has not come. A later time is that of other
  // windows. One time is kept from turn to turn, and a second is no difference: see WindowStates.
  const std::optional<base::WallTime>& opens = facts.last_opens;
  const bool is_its_turn = !opens || *opens <= wall || *opens - wall > facts.delay + std::chrono::seconds(1);
  if (is_its_turn) return {.action = action, .opens = std::nullopt};
  const base::TimePoint until = facts.last.reason == Reason::kOutsidePullWindow
                                    ? facts.last.until
                                    : now + std::chrono::duration_cast<base::Duration>(*opens - wall);
  if (until <= now) return {.action = action, .opens = std::nullopt};
  return {.action = AwaitWindow(action, until), .opens = opens};
}

}  // namespace prefetch::plan
