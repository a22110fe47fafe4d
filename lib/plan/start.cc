#include "plan/start.h"

#include "plan/schedule.h"

namespace prefetch::plan {

StartVerdict JudgeStart(const StartFacts& facts, base::TimePoint now) {
  StartVerdict verdict{.no_room = !facts.fits};
  if (now < facts.disk_held_until) verdict.held = Reason::kDiskFull;
  if (now < facts.registry_held_until) verdict.held = facts.registry_trouble;
  // An update that readiness waits for may use one of the last pulls.
  const bool spared = facts.update && facts.ready && !facts.asked && facts.pulls_are_saved;
  const bool too_early = !facts.tried_before && !facts.asked && now < facts.first_at;
  verdict.may = facts.fits && !spared && !too_early && !facts.lease_is_leaving;
  return verdict;
}

bool IsDueSoon(const Action& action, bool usable, base::TimePoint now) {
  return action.kind == ActionKind::kWait && !usable && action.until <= now + kSoonDue;
}

}  // namespace prefetch::plan
