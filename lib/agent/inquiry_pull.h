// What is said of an image that was not here, and that the agent was asked to pull (`prefetchctl check
// --pull`). Pure; internal to agent/.
#pragma once

#include "base/clock.h"
#include "image/reference.h"
#include "plan/snapshot.h"
#include "report/check_document.h"

namespace prefetch::agent {

// The entry of the list, or what was asked for at that time or later; nullptr: neither, it waits for a place.
const plan::ImageState* PulledFor(const plan::Snapshot& snapshot, const image::Reference& reference,
                                  base::TimePoint asked_at);

// It is on its way, `image` tells how far; null: it waits for a place.
report::CheckAnswer PullPending(report::CheckAnswer answer, const plan::ImageState* image);

// What another try would bring is not worth waiting for.
report::CheckAnswer PullFailed(report::CheckAnswer answer, const report::CheckQuestion& question,
                               const plan::ImageState& image);

}  // namespace prefetch::agent
