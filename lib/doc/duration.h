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

// The texts that ParseDuration reads, as patterns of a JSON Schema (ECMA 262), which knows no bounds.
inline constexpr const char* kDurationPattern =
    R"(^[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$)";
// Not less than zero.
inline constexpr const char* kDurationFromZeroPattern =
    R"(^(\+|-(?=[^1-9]*$))?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$)";
// More than zero.
inline constexpr const char* kPositiveDurationPattern =
    R"(^\+?(?=[^1-9]*[1-9])(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$)";
// A minute at least, as far as a pattern can tell.
inline constexpr const char* kDurationFromAMinutePattern =
    R"(^(?!\+?0*[1-5]?[0-9](\.[0-9]*)?s$)\+?(?=[^1-9]*[1-9])(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$)";

}  // namespace prefetch::doc
