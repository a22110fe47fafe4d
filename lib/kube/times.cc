#include "kube/times.h"

#include <algorithm>

#include "base/text.h"
#include "doc/timestamp.h"
#include "http/date.h"

namespace prefetch::kube {
namespace {

constexpr std::chrono::seconds kLongestRetryAfter = std::chrono::hours(24);
constexpr std::chrono::year_month_day kEarliest{std::chrono::year(1800), std::chrono::January,
                                                std::chrono::day(1)};
constexpr std::chrono::year_month_day kLatest{std::chrono::year(2200), std::chrono::January,
                                              std::chrono::day(1)};

}  // namespace

std::optional<base::WallTime> ParseRfc3339(std::string_view text) {
  const auto time = doc::ParseTimestamp(text);
  if (!time) return std::nullopt;
  // 64 bits of nanoseconds end in the year 2262, and "never" is often written as the year 9999.
  const std::chrono::sys_days day(std::clamp(time->date, kEarliest, kLatest));
  // A time with offset +02:00 is two hours earlier in UTC.
  return base::WallTime(day) + time->of_day - time->offset;
}

std::optional<std::chrono::seconds> ParseRetryAfter(std::string_view text, base::WallTime now) {
  text = base::TrimSpace(text);
  if (auto seconds = base::ParseUint(text)) {
    return std::chrono::seconds(std::min<std::uint64_t>(*seconds, kLongestRetryAfter.count()));
  }
  auto date = http::ParseDate(text);
  if (!date) return std::nullopt;
  auto wait = std::chrono::ceil<std::chrono::seconds>(*date - now);
  // A date in the past means "now": the two clocks may differ.
  return std::clamp<std::chrono::seconds>(wait, std::chrono::seconds(0), kLongestRetryAfter);
}

}  // namespace prefetch::kube
