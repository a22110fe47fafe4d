// Points in time as Kubernetes' files and servers write them, read as Go reads them: RFC 3339, with Go's
// leniences.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace prefetch::doc {

// A time as it was written. A fraction of a second is dropped. Years go from 0 to 9999, so it may not fit
// base::WallTime.
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
