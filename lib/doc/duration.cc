#include "doc/duration.h"

#include <array>
#include <cmath>
#include <cstdint>

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

bool IsDigit(std::string_view text, std::size_t at) {
  return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

// Takes one term such as "1.5h" from the front of `text`, in nanoseconds. Returns nullopt also if the value
// overflows.
std::optional<std::int64_t> TakeTerm(std::string_view& text) {
  std::int64_t whole = 0;
  double fraction = 0;
  double place = 1;
  bool digits = false;
  for (; IsDigit(text, 0); text.remove_prefix(1), digits = true) {
    if (__builtin_mul_overflow(whole, 10, &whole)) return std::nullopt;
    if (__builtin_add_overflow(whole, text.front() - '0', &whole)) return std::nullopt;
  }
  if (text.starts_with(".")) {
    text.remove_prefix(1);
    for (; IsDigit(text, 0); text.remove_prefix(1), digits = true) {
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

// Takes a number of exactly `digits` digits from the front.
std::optional<int> TakeNumber(std::string_view& text, std::size_t digits) {
  int number = 0;
  for (std::size_t i = 0; i < digits; i++) {
    if (!IsDigit(text, i)) return std::nullopt;
    number = number * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return number;
}

bool Take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<std::chrono::year_month_day> TakeDate(std::string_view& text) {
  std::optional<int> year = TakeNumber(text, 4);
  if (!year || !Take(text, '-')) return std::nullopt;
  std::optional<int> month = TakeNumber(text, 2);
  if (!month || !Take(text, '-')) return std::nullopt;
  std::optional<int> day = TakeNumber(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  return date.ok() ? std::optional(date) : std::nullopt;
}

// The hour may have a single digit, as in Go's time.Parse.
std::optional<std::chrono::seconds> TakeClock(std::string_view& text) {
  std::optional<int> hours = TakeNumber(text, IsDigit(text, 1) ? 2 : 1);
  if (!hours || *hours >= 24 || !Take(text, ':')) return std::nullopt;
  std::optional<int> minutes = TakeNumber(text, 2);
  if (!minutes || *minutes >= 60 || !Take(text, ':')) return std::nullopt;
  std::optional<int> seconds = TakeNumber(text, 2);
  if (!seconds || *seconds >= 60) return std::nullopt;
  return std::chrono::hours(*hours) + std::chrono::minutes(*minutes) + std::chrono::seconds(*seconds);
}

void TakeFraction(std::string_view& text) {
  if (!(text.starts_with('.') || text.starts_with(',')) || !IsDigit(text, 1)) return;
  text.remove_prefix(1);
  while (IsDigit(text, 0)) text.remove_prefix(1);
}

// Go accepts a few offsets that no place has.
std::optional<std::chrono::seconds> TakeOffset(std::string_view& text) {
  if (Take(text, 'Z')) return std::chrono::seconds(0);
  const bool west = text.starts_with('-');
  if (!Take(text, '+') && !Take(text, '-')) return std::nullopt;
  std::optional<int> hours = TakeNumber(text, 2);
  if (!hours || *hours > 24 || !Take(text, ':')) return std::nullopt;
  std::optional<int> minutes = TakeNumber(text, 2);
  if (!minutes || *minutes > 60) return std::nullopt;
  return (west ? -1 : 1) * (std::chrono::hours(*hours) + std::chrono::minutes(*minutes));
}

}  // namespace

std::optional<Timestamp> ParseTimestamp(std::string_view text) {
  const auto date = TakeDate(text);
  if (!date || !Take(text, 'T')) return std::nullopt;
  const auto of_day = TakeClock(text);
  TakeFraction(text);
  const auto offset = of_day ? TakeOffset(text) : std::nullopt;
  if (!offset || !text.empty()) return std::nullopt;
  return Timestamp{.date = *date, .of_day = *of_day, .offset = *offset};
}

}  // namespace prefetch::doc
