#include "plan/start.h"

#include "plan/schedule.h"

namespace prefetch::plan {

StartVerdict EvaluateStart(const StartFacts& facts, base::TimePoint now) {
  StartVerdict verdict{.no_disk_space = !facts.fits};
  // The registry's trouble is reported rather than the disk's if both hold the entry. `held` is for
  // status; Schedule enforces the hold.
  if (now < facts.disk_held_until) verdict.held = Reason::kDiskFull;
  if (now < facts.registry_held_until) verdict.held = facts.registry_failure;
  // An update that readiness waits for may use one of the last pulls.
  const bool spared = facts.update && facts.ready && !facts.requested && facts.quota_is_reserved;
  // startJitter spreads the first pulls of a fleet. A pull that was tried, or that a client waits for, is no
  // part of that wave.
  const bool too_early = !facts.tried_before && !facts.requested && now < facts.first_at;
  // While a lease of this name is being deleted, a new pull under it would lose its bytes.
  verdict.may = facts.fits && !spared && !too_early && !facts.lease_is_leaving;
  return verdict;
}

bool IsDueSoon(const Action& action, bool usable, base::TimePoint now) {
  return action.kind == ActionKind::kWait && !usable && action.until <= now + kSoonDue;
}

}  // namespace prefetch::plan
