#include "http/headers.h"

#include <algorithm>
#include <array>
#include <chrono>

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

namespace {

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

}  // namespace

std::optional<base::WallTime> ParseDate(std::string_view text) {
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

}  // namespace prefetch::http
