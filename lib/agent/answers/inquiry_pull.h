// What is said of an image that was not here, and that the agent was asked to pull (`prefetchctl check
// --pull`). Pure; internal to agent/.
#pragma once

#include "base/clock.h"
#include "image/reference.h"
#include "plan/snapshot.h"
#include "status/check_document.h"

namespace prefetch::agent {

// The entry of the list, or what was asked for at that time or later; nullptr: neither, it waits for a place.
const plan::ImageState* PulledFor(const plan::Snapshot& snapshot, const image::Reference& reference,
                                  base::TimePoint asked_at);

// It is on its way, `image` tells how far; null: it waits for a place.
status::CheckAnswer PullPending(status::CheckAnswer answer, const plan::ImageState* image);

// What another try would bring is not worth waiting for.
status::CheckAnswer PullFailed(status::CheckAnswer answer, const status::CheckQuestion& question,
                               const plan::ImageState& image);

}  // namespace prefetch::agent
