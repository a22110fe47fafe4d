// Circuit: what fails several times in a row is left alone, each time for longer. A rule; its owner counts.
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace prefetch::base {

// `base`, doubled `times` times, but no longer than `cap`. Fewer than one time: `base`.
constexpr Duration Doubled(Duration base, int times, Duration cap) {
  for (int i = 0; i < times && base < cap; i++) base *= 2;
  return std::min(base, cap);
}

struct Circuit {
  int failures = 1;   // in a row that open it
  Duration first{0};  // how long it stays open the first time; each further time doubles this
  Duration longest{0};

  constexpr bool IsOpen(int in_a_row) const { return in_a_row >= failures; }
  // `times_opened`: in a row, this one included.
  constexpr Duration Pause(int times_opened) const { return Doubled(first, times_opened - 1, longest); }
  // Where each further failure opens it anew. Zero: it is not open.
  constexpr Duration PauseAfter(int in_a_row) const {
    return IsOpen(in_a_row) ? Pause(in_a_row - failures + 1) : Duration::zero();
  }
};

}  // namespace prefetch::base
