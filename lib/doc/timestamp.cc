#include "doc/timestamp.h"

#include <array>
#include <optional>

namespace prefetch::doc {
namespace {

bool IsDigit(std::string_view text, std::size_t at) {
  return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

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

int DaysIn(int month, int year) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month == 2 && leap ? 29 : kDays[static_cast<std::size_t>(month - 1)];
}

bool TakeDate(std::string_view& text) {
  std::optional<int> year = TakeNumber(text, 4);
  if (!year || !Take(text, '-')) return false;
  std::optional<int> month = TakeNumber(text, 2);
  if (!month || *month < 1 || *month > 12 || !Take(text, '-')) return false;
  std::optional<int> day = TakeNumber(text, 2);
  return day && *day >= 1 && *day <= DaysIn(*month, *year);
}

// The hour may have a single digit, as in Go's time.Parse.
bool TakeClock(std::string_view& text) {
  std::optional<int> hour = TakeNumber(text, IsDigit(text, 1) ? 2 : 1);
  if (!hour || *hour >= 24 || !Take(text, ':')) return false;
  std::optional<int> minute = TakeNumber(text, 2);
  if (!minute || *minute >= 60 || !Take(text, ':')) return false;
  std::optional<int> second = TakeNumber(text, 2);
  return second && *second < 60;
}

void TakeFraction(std::string_view& text) {
  if (!(text.starts_with('.') || text.starts_with(',')) || !IsDigit(text, 1)) return;
  text.remove_prefix(1);
  while (IsDigit(text, 0)) text.remove_prefix(1);
}

bool TakeZone(std::string_view& text) {
  if (Take(text, 'Z')) return true;
  if (!Take(text, '+') && !Take(text, '-')) return false;
  std::optional<int> hours = TakeNumber(text, 2);
  if (!hours || *hours > 24 || !Take(text, ':')) return false;
  std::optional<int> minutes = TakeNumber(text, 2);
  return minutes && *minutes <= 60;
}

}  // namespace

bool IsTimestamp(std::string_view text) {
  if (!TakeDate(text) || !Take(text, 'T') || !TakeClock(text)) return false;
  TakeFraction(text);
  return TakeZone(text) && text.empty();
}

}  // namespace prefetch::doc
