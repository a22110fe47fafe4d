#include "kube/times.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "doc/timestamp.h"

namespace prefetch::kube {
namespace {

constexpr std::chrono::seconds kLongestRetryAfter = std::chrono::hours(24);
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

constexpr std::chrono::year_month_day kEarliest{std::chrono::year(1800), std::chrono::January,
                                                std::chrono::day(1)};
constexpr std::chrono::year_month_day kLatest{std::chrono::year(2200), std::chrono::January,
                                              std::chrono::day(1)};

// Takes `digits` digits off the front; nullopt if they are not there. ParseUint accepts digits only, so a
// sign is refused.
std::optional<int> TakeNumber(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  auto number = base::ParseUint(text.substr(0, digits));
  if (!number) return std::nullopt;
  text.remove_prefix(digits);
  return static_cast<int>(*number);
}

bool Take(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

// 64 bits of nanoseconds end in the year 2262, and "never" is often written as the year 9999.
base::WallTime Moment(std::chrono::year_month_day date, std::chrono::seconds of_day) {
  return base::WallTime(std::chrono::sys_days(std::clamp(date, kEarliest, kLatest))) + of_day;
}

// Takes "10:00:00".
std::optional<std::chrono::seconds> TakeTimeOfDay(std::string_view& text) {
  auto hours = TakeNumber(text, 2);
  if (!hours || !Take(text, ":")) return std::nullopt;
  auto minutes = TakeNumber(text, 2);
  if (!minutes || !Take(text, ":")) return std::nullopt;
  auto seconds = TakeNumber(text, 2);
  if (!seconds || *hours > 23 || *minutes > 59 || *seconds > 59) return std::nullopt;
  return std::chrono::hours(*hours) + std::chrono::minutes(*minutes) + std::chrono::seconds(*seconds);
}

// Reads "Wed, 21 Oct 2015 07:28:00 GMT", the one form that RFC 9110 lets a server write. The day of the week
// is not checked against the date.
std::optional<base::WallTime> ParseHttpDate(std::string_view text) {
  std::size_t comma = text.find(", ");
  if (comma == std::string_view::npos) return std::nullopt;
  text.remove_prefix(comma + 2);
  auto day = TakeNumber(text, 2);
  if (!day || !Take(text, " ")) return std::nullopt;
  auto month = std::find(kMonths.begin(), kMonths.end(), text.substr(0, 3));
  if (month == kMonths.end()) return std::nullopt;
  text.remove_prefix(3);
  if (!Take(text, " ")) return std::nullopt;
  auto year = TakeNumber(text, 4);
  if (!year || !Take(text, " ")) return std::nullopt;
  auto of_day = TakeTimeOfDay(text);
  if (!of_day || text != " GMT") return std::nullopt;
  const std::chrono::year_month_day date{
      std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(month - kMonths.begin()) + 1),
      std::chrono::day(static_cast<unsigned>(*day))};
  return date.ok() ? std::optional(Moment(date, *of_day)) : std::nullopt;
}

}  // namespace

std::optional<base::WallTime> ParseRfc3339(std::string_view text) {
  const auto time = doc::ParseTimestamp(text);
  // A time with offset +02:00 is two hours earlier in UTC.
  return time ? std::optional(Moment(time->date, time->of_day) - time->offset) : std::nullopt;
}

std::optional<std::chrono::seconds> ParseRetryAfter(std::string_view text, base::WallTime now) {
  text = base::TrimSpace(text);
  if (auto seconds = base::ParseUint(text)) {
    return std::chrono::seconds(std::min<std::uint64_t>(*seconds, kLongestRetryAfter.count()));
  }
  auto date = ParseHttpDate(text);
  if (!date) return std::nullopt;
  auto wait = std::chrono::ceil<std::chrono::seconds>(*date - now);
  // A date in the past means "now": the two clocks may differ.
  return std::clamp<std::chrono::seconds>(wait, std::chrono::seconds(0), kLongestRetryAfter);
}

}  // namespace prefetch::kube
