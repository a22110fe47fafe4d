// CredentialLookup: how far the search for the credentials is that an entry's next pull, or check, is to use.
// A plugin may take a minute for it, or hang, so a search holds no place that others could use.
#pragma once

#include <chrono>

#include "base/clock.h"

namespace prefetch::plan {

enum class LookupState { kDone, kWanted, kUnderWay };

struct CredentialLookup {
  LookupState state = LookupState::kDone;
  base::TimePoint since;  // it is under way
};

// Most searches take milliseconds. For this long, a running look-up keeps the place and the room of its entry
// from entries of lower priority; then others go first.
constexpr std::chrono::seconds kPromptLookup{1};

inline bool IsPrompt(const CredentialLookup& lookup, base::TimePoint now) {
  return lookup.state != LookupState::kUnderWay || now - lookup.since < kPromptLookup;
}

}  // namespace prefetch::plan
