#include "http/headers.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "base/text.h"

namespace prefetch::http {

std::optional<std::string_view> Headers::Get(std::string_view name) const {
  for (const auto& field : fields_) {
    if (base::EqualsIgnoreCase(field.first, name)) return field.second;
  }
  return std::nullopt;
}

std::vector<std::string_view> Headers::All(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& field : fields_) {
    if (base::EqualsIgnoreCase(field.first, name)) values.push_back(field.second);
  }
  return values;
}

bool IsFieldName(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return base::IsAlphanumeric(c) || kMarks.find(c) != std::string_view::npos;
  });
}

bool IsFieldValue(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) {
    unsigned char byte = static_cast<unsigned char>(c);
    // Bytes beyond ASCII are obsolete in values (RFC 9110 section 5.5), and harmless: they end no line.
    return c == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

std::optional<base::WallTime> ParseDate(std::string_view text) {
  text = base::TrimSpace(text);
  const std::string date(text.substr(std::min(text.find(' '), text.size())));  // without the day of the week
  // The last one is asctime's: no zone, means UTC.
  for (const char* spelling : {" %d %b %Y %T GMT", " %d-%b-%y %T GMT", " %d-%b-%Y %T GMT", " %b %d %T %Y"}) {
    std::tm time{};
    if (::strptime(date.c_str(), spelling, &time) != date.c_str() + date.size()) continue;
    int year = time.tm_year + 1900;
    // A year of two digits (RFC 850) is in this century, or in the last one if it would be far in the future.
    if (year == 1969 && date.find("1969") == std::string::npos) year = 2069;
    const std::chrono::year_month_day day{std::chrono::year(year),
                                          std::chrono::month(static_cast<unsigned>(time.tm_mon + 1)),
                                          std::chrono::day(static_cast<unsigned>(time.tm_mday))};
    if (!day.ok() || year < 1970 || year > 2200) return std::nullopt;  // what fits a clock in nanoseconds
    return std::chrono::sys_days(day) + std::chrono::hours(time.tm_hour) + std::chrono::minutes(time.tm_min) +
           std::chrono::seconds(time.tm_sec);
  }
  return std::nullopt;
}

}  // namespace prefetch::http
