#include "status/rows.h"

#include "doc/duration.h"

namespace prefetch::status {

std::optional<base::WallTime> ParseTime(const std::string& text) {
  // Nanoseconds reach some 292 years: half of that to both sides of 1970, so that the time between any two
  // holds, too.
  constexpr auto kFurthest = std::chrono::floor<std::chrono::seconds>(base::WallTime::duration::max()) / 2;
  const auto time = doc::ParseTimestamp(text);
  if (!time || text.back() != 'Z') return std::nullopt;
  const std::chrono::seconds since = std::chrono::sys_days(time->date).time_since_epoch() + time->of_day;
  if (since > kFurthest || since < -kFurthest) return std::nullopt;
  return base::WallTime(since);
}

}  // namespace prefetch::status
