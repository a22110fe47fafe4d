#include "doc/timestamp.h"

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
