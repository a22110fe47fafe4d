// Times as the API server writes them. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "base/clock.h"

namespace prefetch::kube {

// Returns the time that doc::ParseTimestamp reads; nullopt for anything else. A date before 1800 or after
// 2200 counts as the nearest of these.
std::optional<base::WallTime> ParseRfc3339(std::string_view text);

// The value of a Retry-After header (RFC 9110 section 10.2.3): seconds, or a date as seen from `now`; at most
// a day, at least 0. nullopt for anything else.
std::optional<std::chrono::seconds> ParseRetryAfter(std::string_view text, base::WallTime now);

}  // namespace prefetch::kube
