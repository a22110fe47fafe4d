// How much of one registry a node takes, and when it leaves it alone (registry rules R27 and R29): the
// agent's checks and pulls (lib/plan) and the client that asks (lib/registry) go by the same figures. Here
// since those two do not know each other.
#pragma once

#include <chrono>

#include "base/circuit.h"
#include "base/token_bucket.h"

namespace prefetch::image {

constexpr base::TokenRate kRegistryRequests{.per_second = 5, .burst = 10};
constexpr int kRequestsPerRegistry = 2;  // checks, or their requests, at once
constexpr int kChecksAtOnce = 8;         // over all registries

// Questions without an answer; then one probe at a time.
constexpr base::Circuit kSilentRegistry{
    .failures = 5, .first = std::chrono::seconds(60), .longest = std::chrono::minutes(15)};
// Pulls that fail without an answer of the registry; then one pull at a time. One failure may be chance.
constexpr base::Circuit kFailingPulls{
    .failures = 2, .first = std::chrono::seconds(1), .longest = std::chrono::minutes(1)};
// A 429 without a time (R27).
constexpr base::Circuit kLimitedRegistry{
    .failures = 1, .first = std::chrono::seconds(60), .longest = std::chrono::hours(1)};
// Docker Hub counts pulls by hours.
constexpr base::Circuit kLimitedDockerHub{
    .failures = 1, .first = std::chrono::minutes(15), .longest = std::chrono::hours(1)};

}  // namespace prefetch::image
