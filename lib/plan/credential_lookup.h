// CredentialLookup: the state of the lookup of the credentials that an entry's next pull, or check, will
// use. A plugin may take a minute for it, or hang, so a lookup holds no slot that others could use.
#pragma once

#include <chrono>

#include "base/clock.h"

namespace prefetch::plan {

enum class LookupState { kDone, kNeeded, kUnderWay };

struct CredentialLookup {
  LookupState state = LookupState::kDone;
  base::TimePoint since;  // it began, if it is under way
};

// Most lookups take milliseconds. For this long, a running lookup keeps the slot and the disk space of its
// entry from entries of lower priority; then others go first.
constexpr std::chrono::seconds kPromptLookup{1};

inline bool IsPrompt(const CredentialLookup& lookup, base::TimePoint now) {
  return lookup.state != LookupState::kUnderWay || now - lookup.since < kPromptLookup;
}

}  // namespace prefetch::plan
