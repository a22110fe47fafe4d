// ParseDuration: durations as Go writes them, and so Kubernetes' files and flags: "90s", "1h30m", "0".
// ParseTimestamp: points in time, RFC 3339 with Go's leniences.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace prefetch::doc {

// Parses a duration as Go's time.ParseDuration does: a sign, then numbers with a unit each (ns, us, µs, ms,
// s, m, h), fractions allowed; "0" needs no unit. Returns nullopt for anything else, and beyond 64 bits of
// nanoseconds.
std::optional<std::chrono::nanoseconds> ParseDuration(std::string_view text);

// Returns the short form that ParseDuration reads back: "1h30m", "45s", "1.5s", "0s".
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

// A point in time as Kubernetes' files and servers write it. A fraction of a second is dropped. Years go from
// 0 to 9999, so it may not fit base::WallTime.
struct Timestamp {
  std::chrono::year_month_day date;
  std::chrono::seconds of_day{0};
  std::chrono::seconds offset{0};  // from UTC, positive to the east
};

// Returns nullopt unless Go's time.Parse(time.RFC3339, text) accepts it: "2026-08-01T10:00:00Z", with a
// fraction of any length behind a point or a comma, an offset of up to 24 hours instead of Z, an hour of one
// digit; the date must exist.
std::optional<Timestamp> ParseTimestamp(std::string_view text);

}  // namespace prefetch::doc
