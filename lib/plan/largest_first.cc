#include "plan/largest_first.h"

#include <algorithm>
#include <iterator>

namespace prefetch::plan {
namespace {

using Slots = std::vector<PullCandidate>::iterator;

// Returns the bytes of all slots. A slot of unknown size counts as the average of the others; at least one
// size has to be known.
double SumOfBytes(Slots begin, Slots end) {
  double sum = 0;
  std::ptrdiff_t known = 0;
  for (Slots slot = begin; slot != end; ++slot) {
    sum += static_cast<double>(slot->bytes);
    if (slot->bytes > 0) known++;
  }
  return sum * static_cast<double>(end - begin) / static_cast<double>(known);
}

// Returns the largest slot that may be moved, or `end`. An image of a far registry keeps its place, since
// latency and not its size decides how long it takes.
Slots Largest(Slots begin, Slots end) {
  Slots largest = end;
  for (Slots slot = begin; slot != end; ++slot) {
    if (slot->far || slot->bytes == 0) continue;
    if (largest == end || slot->bytes > largest->bytes) largest = slot;
  }
  return largest;
}

void MoveAmongEquals(Slots begin, Slots end, int parallel) {
  // Each round moves one image to the front and goes on with the rest. It ends when the largest of the rest
  // fits into the share that one of `parallel` pulls has anyway.
  while (end - begin > 1) {
    Slots largest = Largest(begin, end);
    if (largest == end) return;
    if (static_cast<double>(largest->bytes) * parallel <= SumOfBytes(begin, end)) return;
    std::rotate(begin, largest, std::next(largest));
    ++begin;
  }
}

}  // namespace

bool MayReorder(const PhaseCount& phase) {
  return 2 * phase.over >= phase.images;
}

bool WantsSizes(const PhaseCount& phase) {
  return 2 * (phase.over + phase.running) >= phase.images;
}

bool AreEqual(const PullCandidate& a, const PullCandidate& b) {
  return a.stalled == b.stalled && a.update == b.update && a.requested == b.requested &&
         a.priority == b.priority && a.failures == b.failures;
}

void MoveLargestFirst(std::vector<PullCandidate>& due, int parallel) {
  for (Slots begin = due.begin(); begin != due.end();) {
    const Slots end =
        std::find_if(begin, due.end(), [&](const PullCandidate& slot) { return !AreEqual(*begin, slot); });
    MoveAmongEquals(begin, end, parallel);
    begin = end;
  }
}

}  // namespace prefetch::plan
