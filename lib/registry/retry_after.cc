#include "registry/retry_after.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/text.h"
#include "http/date.h"

namespace prefetch::registry {
namespace {

using std::chrono::milliseconds;

// The limits of R26.
constexpr milliseconds kLeast = std::chrono::seconds(1);
constexpr milliseconds kMost = std::chrono::hours(6);
// Some servers send a Unix time instead of seconds (R26). No wait is as long as 30 years.
constexpr double kUnixTimeFrom = 1e9;
constexpr double kUnixTimeTo = 7'258'118'400;  // of the year 2200: what fits a clock in nanoseconds

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

std::optional<milliseconds> ParseRetryAfter(std::string_view value, std::string_view date,
                                            base::WallTime now) {
  value = base::TrimSpace(value);
  // The server's own clock cancels any difference between the clocks (R26).
  base::WallTime seen_from = http::ParseDate(date).value_or(now);
  if (auto number = ParseDecimal(std::string(value))) {
    if (*number < kUnixTimeFrom) {
      double most = std::chrono::duration<double>(kMost).count();
      return Clamped(milliseconds(std::llround(std::min(*number, most) * 1000)));
    }
    if (*number > 1e11) return std::nullopt;
    base::WallTime at{std::chrono::seconds(static_cast<std::int64_t>(std::min(*number, kUnixTimeTo)))};
    return Clamped(std::chrono::duration_cast<milliseconds>(at - seen_from));
  }
  auto at = http::ParseDate(value);
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
