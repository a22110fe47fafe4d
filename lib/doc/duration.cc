#include "doc/duration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>

#include "base/text.h"

namespace prefetch::doc {

namespace {

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};

// A name comes before those that are its beginning.
constexpr std::array<Unit, 8> kUnits = {{{"ns", 1},
                                         {"us", 1'000},
                                         {"µs", 1'000},  // U+00B5
                                         {"μs", 1'000},  // U+03BC
                                         {"ms", 1'000'000},
                                         {"s", 1'000'000'000},
                                         {"m", 60'000'000'000},
                                         {"h", 3'600'000'000'000}}};

bool HasDigit(std::string_view text, std::size_t at) {
  return at < text.size() && base::IsDigit(text[at]);
}

// Takes one term such as "1.5h" from the front of `text`, in nanoseconds. Returns nullopt also if the value
// overflows.
std::optional<std::int64_t> TakeTerm(std::string_view& text) {
  std::int64_t whole = 0;
  double fraction = 0;
  double place = 1;
  bool digits = false;
  for (; HasDigit(text, 0); text.remove_prefix(1), digits = true) {
    if (__builtin_mul_overflow(whole, 10, &whole)) return std::nullopt;
    if (__builtin_add_overflow(whole, text.front() - '0', &whole)) return std::nullopt;
  }
  if (text.starts_with(".")) {
    text.remove_prefix(1);
    for (; HasDigit(text, 0); text.remove_prefix(1), digits = true) {
      place /= 10;
      fraction += place * (text.front() - '0');
    }
  }
  // "." alone has no digits.
  if (!digits) return std::nullopt;
  for (const Unit& unit : kUnits) {
    if (!text.starts_with(unit.name)) continue;
    text.remove_prefix(unit.name.size());
    auto part = static_cast<std::int64_t>(std::llround(fraction * static_cast<double>(unit.nanoseconds)));
    if (__builtin_mul_overflow(whole, unit.nanoseconds, &whole)) return std::nullopt;
    if (__builtin_add_overflow(whole, part, &whole)) return std::nullopt;
    return whole;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::chrono::nanoseconds> ParseDuration(std::string_view text) {
  bool negative = text.starts_with("-");
  if (negative || text.starts_with("+")) text.remove_prefix(1);
  if (text == "0") return std::chrono::nanoseconds(0);
  if (text.empty()) return std::nullopt;
  std::int64_t total = 0;
  while (!text.empty()) {
    std::optional<std::int64_t> term = TakeTerm(text);
    if (!term || __builtin_add_overflow(total, *term, &total)) return std::nullopt;
  }
  return std::chrono::nanoseconds(negative ? -total : total);
}

std::string FormatDuration(std::chrono::nanoseconds duration) {
  std::int64_t count = duration.count();
  if (count == 0) return "0s";
  std::string out = count < 0 ? "-" : "";
  // Negated as unsigned, since the most negative value has no positive counterpart.
  std::uint64_t rest = count < 0 ? 0 - static_cast<std::uint64_t>(count) : static_cast<std::uint64_t>(count);
  for (auto [unit, size] : {std::pair{"h", 3'600'000'000'000ULL}, std::pair{"m", 60'000'000'000ULL}}) {
    if (rest >= size) out += std::to_string(rest / size) + unit;
    rest %= size;
  }
  if (rest == 0) return out;
  out += std::to_string(rest / 1'000'000'000);
  if (std::string fraction = std::to_string(1'000'000'000 + rest % 1'000'000'000).substr(1);
      fraction.find_first_not_of('0') != std::string::npos) {
    out += "." + fraction.substr(0, fraction.find_last_not_of('0') + 1);
  }
  return out + "s";
}

namespace {

// Takes from the front what `form` describes: a digit in it is a number of that many digits, any other
// character is itself.
bool Take(std::string_view& text, std::string_view form, std::initializer_list<int*> numbers) {
  auto number = numbers.begin();
  for (char c : form) {
    if (!base::IsDigit(c)) {
      if (!text.starts_with(c)) return false;
      text.remove_prefix(1);
      continue;
    }
    for (int digits = c - '0'; digits > 0; digits--, text.remove_prefix(1)) {
      if (!HasDigit(text, 0)) return false;
      **number = **number * 10 + (text.front() - '0');
    }
    number++;
  }
  return true;
}

}  // namespace

std::optional<Timestamp> ParseTimestamp(std::string_view text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, hours_off = 0, minutes_off = 0;
  if (!Take(text, "4-2-2T", {&year, &month, &day})) return std::nullopt;
  // The hour may have a single digit, as in Go's time.Parse.
  if (!Take(text, HasDigit(text, 1) ? "2:2:2" : "1:2:2", {&hour, &minute, &second})) return std::nullopt;
  if ((text.starts_with('.') || text.starts_with(',')) && HasDigit(text, 1)) {
    text.remove_prefix(std::min(text.find_first_not_of("0123456789", 1), text.size()));
  }
  const bool west = text.starts_with('-');
  if (text == "Z") {
    text = {};
  } else if (!Take(text, west ? "-2:2" : "+2:2", {&hours_off, &minutes_off})) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date(std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  // Go accepts a few offsets that no place has.
  const bool in_range = hour < 24 && minute < 60 && second < 60 && hours_off <= 24 && minutes_off <= 60;
  if (!text.empty() || !date.ok() || !in_range) return std::nullopt;
  return Timestamp{
      .date = date,
      .of_day = std::chrono::hours(hour) + std::chrono::minutes(minute) + std::chrono::seconds(second),
      .offset = (west ? -1 : 1) * (std::chrono::hours(hours_off) + std::chrono::minutes(minutes_off))};
}

}  // namespace prefetch::doc
