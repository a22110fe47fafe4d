// Requested images: images that a preflight asks the agent to pull (`prefetchctl check --pull`). Decides
// which of them are pulled, how long a request lasts, and when the agent forgets its result. Pure.
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

// Limit for requests that skip a back-off on one node: three at once, then one a minute, so that no client
// can hammer a registry. Operators and preflights have a limit each.
constexpr base::TokenRate kRetries{.per_second = 1.0 / 60, .burst = 3};

// Returns true if the same question may get another answer from the registry soon.
bool IsWorthAnotherCheck(image::RegistryAnswerKind kind);

// Returns true if this entry of the list waits for its next try, or for another answer of its registry.
bool AwaitsRetry(const ImageState& image);

// Decides about an image that is on no list. `requested_until`: the end of its newest request. No pull starts
// for a request that is over, but a running pull goes on to its end.
Action DecideRequested(const Observation& seen, const History& past, base::TimePoint requested_until,
                       base::TimePoint now);

// Returns the time from which the agent may forget a requested image that is not being pulled. The agent
// remembers a failure until its next try is due (at most kRequestMemory), so that repeated requests do not
// reach the registry.
base::TimePoint ForgetRequestedAt(const History& past, base::TimePoint requested_until);

// Returns the state that answers a request made at `requested_at`: that of the list's entry, or of a request
// that is not older. Returns nullptr while the request waits for a place, or the loop has not seen it.
const ImageState* PulledFor(const Snapshot& snapshot, const image::Reference& reference,
                            base::TimePoint requested_at);

// The state of a request for a pull.
enum class RequestedState {
  kPending,  // it is being pulled, waits for a place, or is tried again after a transient error
  kHere,
  kFailed,  // another try is not worth waiting for
};
// `image` is on the list, or requested.
RequestedState StateOfRequested(const ImageState& image);

}  // namespace prefetch::plan
