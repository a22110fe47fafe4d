#include "registry/retry_after.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/text.h"

namespace prefetch::registry {
namespace {

using std::chrono::milliseconds;

// The limits of R26.
constexpr milliseconds kLeast = std::chrono::seconds(1);
constexpr milliseconds kMost = std::chrono::hours(6);
// Some servers send a Unix time instead of seconds (R26). No wait is as long as 30 years.
constexpr double kUnixTimeFrom = 1e9;
constexpr double kUnixTimeTo = 7'258'118'400;  // of the year 2200: what fits a clock in nanoseconds

std::optional<unsigned> MonthOf(std::string_view word) {
  static constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                               "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  for (unsigned i = 0; i < kMonths.size(); i++) {
    if (base::EqualsIgnoreCase(word, kMonths[i])) return i + 1;
  }
  return std::nullopt;
}

std::optional<std::chrono::seconds> TimeOfDay(std::string_view text) {
  std::vector<std::string_view> parts = base::Split(text, ':');
  if (parts.size() != 3) return std::nullopt;
  auto hour = base::ParseUint(parts[0]), minute = base::ParseUint(parts[1]),
       second = base::ParseUint(parts[2]);
  if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return std::chrono::hours(*hour) + std::chrono::minutes(*minute) + std::chrono::seconds(*second);
}

std::optional<base::WallTime> At(std::string_view year, std::string_view month, std::string_view day,
                                 std::string_view time) {
  auto y = base::ParseUint(year), d = base::ParseUint(day);
  auto m = MonthOf(month);
  auto of_day = TimeOfDay(time);
  if (!y || !m || !d || !of_day || *y > 9999 || *d > 31) return std::nullopt;
  // A year of two digits (RFC 850) is in this century, or in the last one if it would be far in the future.
  int full = static_cast<int>(*y) + (year.size() == 2 ? (*y >= 70 ? 1900 : 2000) : 0);
  if (full < 1970 || full > 2200) return std::nullopt;  // what fits a clock in nanoseconds
  std::chrono::year_month_day date{std::chrono::year(full), std::chrono::month(*m),
                                   std::chrono::day(static_cast<unsigned>(*d))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date) + *of_day;
}

// A plain decimal number; no sign, exponent or hexadecimal.
std::optional<double> ParseDecimal(const std::string& text) {
  if (text.empty() || text.size() > 20 || text.find_first_not_of("0123456789.") != std::string::npos) {
    return std::nullopt;
  }
  char* end = nullptr;
  double number = std::strtod(text.c_str(), &end);
  if (*end != '\0' || end == text.c_str()) return std::nullopt;
  return number;
}

std::optional<milliseconds> Clamped(milliseconds wait) {
  if (wait < milliseconds(0)) return std::nullopt;
  return std::clamp(wait, kLeast, kMost);
}

}  // namespace

std::optional<base::WallTime> ParseHttpDate(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::string_view word : base::Split(base::TrimSpace(text), ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  if (words.size() == 6 && words[5] == "GMT") return At(words[3], words[2], words[1], words[4]);
  if (words.size() == 5) return At(words[4], words[1], words[2], words[3]);  // asctime: no zone, means UTC
  if (words.size() != 4 || words[3] != "GMT") return std::nullopt;
  std::vector<std::string_view> day = base::Split(words[1], '-');
  return day.size() == 3 ? At(day[2], day[1], day[0], words[2]) : std::nullopt;
}

std::optional<milliseconds> ParseRetryAfter(std::string_view value, std::string_view date,
                                            base::WallTime now) {
  value = base::TrimSpace(value);
  // The server's own clock cancels any difference between the clocks (R26).
  base::WallTime seen_from = ParseHttpDate(date).value_or(now);
  if (auto number = ParseDecimal(std::string(value))) {
    if (*number < kUnixTimeFrom) {
      double most = std::chrono::duration<double>(kMost).count();
      return Clamped(milliseconds(std::llround(std::min(*number, most) * 1000)));
    }
    if (*number > 1e11) return std::nullopt;
    base::WallTime at{std::chrono::seconds(static_cast<std::int64_t>(std::min(*number, kUnixTimeTo)))};
    return Clamped(std::chrono::duration_cast<milliseconds>(at - seen_from));
  }
  auto at = ParseHttpDate(value);
  if (!at) return std::nullopt;
  return Clamped(std::chrono::duration_cast<milliseconds>(*at - seen_from));
}

std::optional<RateLimitValue> ParseRateLimit(std::string_view value) {
  std::vector<std::string_view> parts = base::Split(value, ';');
  // "100;w=21600": the count, and the window in seconds.
  if (parts.size() > 2) return std::nullopt;
  auto count = base::ParseUint(parts[0]);
  if (!count) return std::nullopt;
  RateLimitValue limit{.count = *count};
  if (parts.size() == 1) return limit;
  if (!parts[1].starts_with("w=")) return std::nullopt;
  auto window = base::ParseUint(parts[1].substr(2));
  if (!window || *window > 365ULL * 86400) return std::nullopt;
  limit.window = std::chrono::seconds(*window);
  return limit;
}

}  // namespace prefetch::registry
