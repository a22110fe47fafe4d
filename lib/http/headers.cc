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
  const std::string date(base::TrimSpace(text));
  // No locale is set, so names are English. asctime's spelling has no zone and means UTC.
  for (const char* format : {"%a, %d %b %Y %T GMT", "%a, %d-%b-%y %T GMT", "%a %b %d %T %Y"}) {
    std::tm utc{};
    const char* end = ::strptime(date.c_str(), format, &utc);
    if (end != date.c_str() + date.size()) continue;
    // strptime takes the year "69" of RFC 850 for 1969, which no server means.
    const bool two_digits = date.find('-') != std::string::npos;
    const int year = utc.tm_year + (two_digits && utc.tm_year == 69 ? 2000 : 1900);
    const std::chrono::year_month_day day{std::chrono::year(year), std::chrono::month(utc.tm_mon + 1U),
                                          std::chrono::day(static_cast<unsigned>(utc.tm_mday))};
    if (!day.ok() || year < 1970 || year > 2200) return std::nullopt;  // what fits a clock in nanoseconds
    return std::chrono::sys_days(day) + std::chrono::hours(utc.tm_hour) + std::chrono::minutes(utc.tm_min) +
           std::chrono::seconds(utc.tm_sec);
  }
  return std::nullopt;
}

}  // namespace prefetch::http
