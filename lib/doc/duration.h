// Durations as Go writes them, which is how Kubernetes' files and flags write them: "90s", "1h30m", "0".
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace prefetch::doc {

// As Go's time.ParseDuration: a sign, then numbers with a unit each (ns, us, µs, ms, s, m, h), fractions
// allowed; "0" needs no unit. nullopt if it is anything else, or beyond 64 bits of nanoseconds.
std::optional<std::chrono::nanoseconds> ParseDuration(std::string_view text);

// The short form that ParseDuration reads back: "1h30m", "45s", "1.5s", "0s".
std::string FormatDuration(std::chrono::nanoseconds duration);

}  // namespace prefetch::doc
