#include "kube/times.h"

#include <algorithm>
#include <array>

#include "base/text.h"

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

std::optional<base::WallTime> Moment(int year, int month, int day, std::chrono::seconds of_day) {
  std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                   std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  // 64 bits of nanoseconds end in the year 2262, and "never" is often written as the year 9999.
  date = std::clamp(date, kEarliest, kLatest);
  return base::WallTime(std::chrono::sys_days(date)) + of_day;
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

void DropFraction(std::string_view& text) {
  if (!text.starts_with(".") && !text.starts_with(",")) return;
  std::size_t end = text.find_first_not_of("0123456789", 1);
  // A point without digits stays, and fails as an offset.
  if (end != 1) text.remove_prefix(std::min(end, text.size()));
}

// Reads "Z" or "+02:00", to the end of the text.
std::optional<std::chrono::seconds> Offset(std::string_view text) {
  if (text == "Z") return std::chrono::seconds(0);
  int sign = text.starts_with("+") ? 1 : -1;
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  text.remove_prefix(1);
  auto hours = TakeNumber(text, 2);
  if (!hours || !Take(text, ":")) return std::nullopt;
  auto minutes = TakeNumber(text, 2);
  if (!minutes || *hours > 24 || *minutes > 59) return std::nullopt;
  return sign * (std::chrono::hours(*hours) + std::chrono::minutes(*minutes));
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
  return Moment(*year, static_cast<int>(month - kMonths.begin()) + 1, *day, *of_day);
}

}  // namespace

std::optional<base::WallTime> ParseRfc3339(std::string_view text) {
  auto year = TakeNumber(text, 4);
  if (!year || !Take(text, "-")) return std::nullopt;
  auto month = TakeNumber(text, 2);
  if (!month || !Take(text, "-")) return std::nullopt;
  auto day = TakeNumber(text, 2);
  if (!day || !Take(text, "T")) return std::nullopt;
  auto of_day = TakeTimeOfDay(text);
  if (!of_day) return std::nullopt;
  DropFraction(text);
  auto offset = Offset(text);
  if (!offset) return std::nullopt;
  auto moment = Moment(*year, *month, *day, *of_day);
  // A time with offset +02:00 is two hours earlier in UTC.
  return moment ? std::optional(*moment - *offset) : std::nullopt;
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
