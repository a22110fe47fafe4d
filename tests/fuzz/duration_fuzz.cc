// Durations, as lists, configurations, flags and kubelet's files write them: the written form reads back,
// signs and sums mean what they say, and the JSON Schema agrees with the reader.
#include <map>
#include <regex>

#include "doc/duration.h"
#include "fuzz/target.h"

namespace {

using std::chrono::nanoseconds;
using namespace prefetch;

bool Matches(const std::string& text, const char* pattern) {
  static std::map<std::string, std::regex> compiled;
  auto found = compiled.find(pattern);
  if (found == compiled.end()) found = compiled.emplace(pattern, std::regex(pattern)).first;
  return std::regex_search(text, found->second);
}

// Takes durations without fractions: those with fractions may be rounded to a bound.
void JudgePatterns(const std::string& text, std::optional<nanoseconds> read) {
  const bool written = Matches(text, doc::kDurationPattern);
  if (read && !written) std::abort();
  // Without a value, it is no duration, or beyond 64 bits of nanoseconds, which begin with 7 digits (of
  // hours).
  if (!read && written && text.find_first_of("0123456789") == std::string::npos) std::abort();
  if (!read && written && text.size() < 7) std::abort();
  if (!read) return;
  if (Matches(text, doc::kDurationFromZeroPattern) != (read->count() >= 0)) std::abort();
  if (Matches(text, doc::kPositiveDurationPattern) != (read->count() > 0)) std::abort();
  if (*read >= std::chrono::minutes(1) && !Matches(text, doc::kDurationFromAMinutePattern)) std::abort();
}

}  // namespace

FUZZ_TARGET(input) {
  const std::string text(input);
  const std::optional<nanoseconds> read = doc::ParseDuration(text);
  // A schema's pattern is for texts without line breaks; std::regex recurs for each byte.
  const bool plain =
      text.find_first_of(".\n\r") == std::string::npos && text.find("\xe2\x80") == std::string::npos;
  if (plain && input.size() <= 100) JudgePatterns(text, read);
  if (!read) return;
  const std::string shown = doc::FormatDuration(*read);
  if (doc::ParseDuration(shown) != read || doc::FormatDuration(*doc::ParseDuration(shown)) != shown)
    std::abort();
  const bool is_signed = text.starts_with('-') || text.starts_with('+');
  if (is_signed) return;
  if (read->count() < 0) std::abort();
  if (doc::ParseDuration("-" + text) != -*read || doc::ParseDuration("+" + text) != read) std::abort();
  if (text == "0") return;
  const auto sum = doc::ParseDuration("1h" + text);
  if (sum && *sum != *read + std::chrono::hours(1)) std::abort();
  if (!sum && *read < nanoseconds::max() - std::chrono::hours(1)) std::abort();
  if (*read < nanoseconds::max() / 2 && doc::ParseDuration(text + text) != *read * 2) std::abort();
}
