// LargestFirst: which of the images that wait begins earlier than listed, so that the pulls do not end with
// one large image that could have been unpacked beside the small ones. Pure.
//
// It only moves images among equals, and only once half of the images are here: half of them are never later
// for it.
#pragma once

#include <cstddef>
#include <vector>

#include "plan/schedule.h"

namespace prefetch::plan {

// The images of this phase: those that were missing when it began.
struct PhaseCount {
  std::size_t images = 0;
  std::size_t over = 0;     // here, or failed for good
  std::size_t running = 0;  // being pulled
};

// Half of them are over.
bool MayReorder(const PhaseCount& phase);
// Soon they are: the sizes of the others are worth a question.
bool WantsSizes(const PhaseCount& phase);

// Returns true if only its place in the list puts `a` before or behind `b`.
bool AreEqual(const PullCandidate& a, const PullCandidate& b);

// `due` is in order. An image that is larger than its share of all that wait among its equals goes to their
// front: with `parallel` pulls at a time, it would end after all others. Images of far registries keep their
// places, as their time is not their size's alone. Images of unknown size keep them, too; for the sum they
// count as the average of the others.
void MoveLargestFirst(std::vector<PullCandidate>& due, int parallel);

}  // namespace prefetch::plan
