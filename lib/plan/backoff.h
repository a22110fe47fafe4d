// The arithmetic of waiting, for all that is tried again: doubling pauses, and jitter by a random number that
// the caller draws, so that each rule stays a function of its arguments.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace prefetch::plan {

// `base`, doubled `times` times, but no longer than `cap`. Fewer than one time: `base`.
constexpr base::Duration Doubled(base::Duration base, int times, base::Duration cap) {
  for (int i = 0; i < times && base < cap; i++) base *= 2;
  return std::min(base, cap);
}

inline base::Duration Scaled(base::Duration duration, double factor) {
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(duration) * factor);
}

// Up to a quarter more, so that the nodes of a cluster do not come back together. `random`: 0 to 1.
inline base::Duration Spread(base::Duration wait, double random) {
  return Scaled(wait, 1 + random / 4);
}

}  // namespace prefetch::plan
