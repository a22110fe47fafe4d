// The arithmetic of waiting, for all that is tried again: doubling pauses, and jitter by a random number that
// the caller draws, so that each rule stays a function of its arguments.
#pragma once

#include <chrono>

#include "base/circuit.h"
#include "base/clock.h"

namespace prefetch::plan {

using base::Doubled;

inline base::Duration Scaled(base::Duration duration, double factor) {
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(duration) * factor);
}

// Up to a quarter more, so that the nodes of a cluster do not come back together. `random`: 0 to 1.
inline base::Duration Spread(base::Duration wait, double random) {
  return Scaled(wait, 1 + random / 4);
}

}  // namespace prefetch::plan
