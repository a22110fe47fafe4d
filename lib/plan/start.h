// Start: the facts about one due pull -> whether it may start at all. Schedule (plan/schedule.h) then gives
// the places to some of these pulls. Pure.
#pragma once

#include <optional>

#include "base/clock.h"
#include "plan/decide.h"
#include "plan/reason.h"

namespace prefetch::plan {

struct StartFacts {
  bool fits = true;                 // MayFit: it could succeed with all the space that is left
  base::TimePoint disk_held_until;  // the disk is full
  base::TimePoint registry_held_until;
  Reason registry_failure = Reason::kUnreachable;  // newest failure of its registry; used while that is held
  bool requested = false;                          // a preflight waits for it now
  bool update = false;                             // a usable image is here
  bool ready = false;                              // readiness does not wait for the update
  bool quota_is_reserved = false;                  // the registry's last pulls are kept for missing images
  bool tried_before = false;
  base::TimePoint first_at;       // no first pull before (startJitter)
  bool lease_is_leaving = false;  // a lease of this name is being deleted
};

struct StartVerdict {
  bool may = false;
  bool no_disk_space = false;
  std::optional<Reason> held;  // the hold of the registry or the disk, for status; nullopt: none

  friend bool operator==(const StartVerdict&, const StartVerdict&) = default;
};

// EvaluateStart only reports a hold of the disk or the registry. Schedule enforces it.
StartVerdict EvaluateStart(const StartFacts& facts, base::TimePoint now);

// Returns true if the entry waits now and its next try is due within kSoonDue. Such an entry of an image that
// is here does not count.
bool IsDueSoon(const Action& action, bool usable, base::TimePoint now);

}  // namespace prefetch::plan
