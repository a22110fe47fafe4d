// Asked: images that a preflight wants pulled (`prefetchctl check --pull`): which of them are pulled, until
// when anybody waits, and when they are forgotten. Pure.
#pragma once

#include <chrono>
#include <cstddef>

#include "base/token_bucket.h"
#include "image/registry_answer.h"
#include "plan/decide.h"
#include "plan/snapshot.h"

namespace prefetch::plan {

// A request ends if it is not repeated for this long: its client has an answer, or has gone. Clients that
// wait repeat it with each question, a few seconds apart.
constexpr std::chrono::seconds kRequestLifetime{15};
// The maximum number of unlisted images with a request; further requests wait for a place.
constexpr std::size_t kMaxRequestedImages = 16;
// The agent remembers a pull's result at most this long after the last request for it.
constexpr std::chrono::hours kRequestMemory{1};

// Requests of operators, and apart from them those of preflights, that skip a back-off on one node: these
// many at once, and then one a minute, so that nobody can hammer a registry.
constexpr base::TokenRate kRetries{.per_second = 1.0 / 60, .burst = 3};

// Would the registry be worth another question after this answer?
bool IsWorthAnotherCheck(image::RegistryAnswerKind kind);

// Does this entry of the list wait for its next try, or for another answer of its registry?
bool AwaitsRetry(const ImageState& image);

// For an image that is on no list. `requested_until`: when its newest request is over. Nothing begins, or
// begins anew, for a request that is over; what runs goes on to its end.
Action DecideRequested(const Observation& seen, const History& past, base::TimePoint requested_until,
                       base::TimePoint now);

// It is not pulled, and its request is over; and a failure with Retry-After is kept in mind meanwhile, so
// that asking again and again does not reach the registry. The time from which on it may be forgotten.
base::TimePoint ForgetRequestedAt(const History& past, base::TimePoint requested_until);

// The entry of the list, or a request made at `requested_at` or later; nullptr: neither, it waits for a place
// or for the loop to notice the request.
const ImageState* PulledFor(const Snapshot& snapshot, const image::Reference& reference,
                            base::TimePoint requested_at);

// The state of a request for a pull.
enum class RequestedState {
  kPending,  // it is pulled, waits for its turn, or is tried again after what passes
  kHere,
  kFailed,  // another try is not worth waiting for
};
// `image` is on the list or was asked for.
RequestedState StateOfRequested(const ImageState& image);

}  // namespace prefetch::plan
