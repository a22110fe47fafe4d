// Parses the times for which a registry sends Retry-After (R26, R28). Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace prefetch::registry {

// Retry-After: seconds (with a fraction, too), a Unix time (a number beyond 1,000,000,000), or a date; times
// are seen from the answer's own Date if it has one, since clocks differ, else from `now`. Between 1 s and
// 6 h. nullopt: in the past, negative, or none of these.
std::optional<std::chrono::milliseconds> ParseRetryAfter(std::string_view value, std::string_view date,
                                                         base::WallTime now);

// "100;w=21600" in RateLimit-Limit and RateLimit-Remaining, as Docker Hub has them.
struct RateLimitValue {
  std::uint64_t count = 0;
  std::chrono::seconds window{0};  // 0: not said

  friend bool operator==(const RateLimitValue&, const RateLimitValue&) = default;
};
std::optional<RateLimitValue> ParseRateLimit(std::string_view value);

}  // namespace prefetch::registry
