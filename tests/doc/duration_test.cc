#include "doc/duration.h"

#include <gtest/gtest.h>

#include <regex>

namespace prefetch::doc::duration_test {
namespace {

struct Row {
  std::string text;
  std::optional<std::int64_t> nanoseconds;
};

// The accepted and refused forms of Go's time.ParseDuration.
TEST(Duration, IsReadAsGoReadsIt) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const Row rows[] = {
      {"0", 0},
      {"-0", 0},
      {"5s", 5 * kSecond},
      {"+5s", 5 * kSecond},
      {"-5s", -5 * kSecond},
      {"1h30m", 5400 * kSecond},
      {"1.5h", 5400 * kSecond},
      {".5s", kSecond / 2},
      {"5.s", 5 * kSecond},
      {"10ms", 10'000'000},
      {"3us", 3000},
      {"3µs", 3000},
      {"7ns", 7},
      {"1h1m1s1ms", 3661 * kSecond + 1'000'000},
      {"0.3333333333333333333h", 1'200'000'000'000},
      {"9223372036854775807ns", 9223372036854775807},
      {"", std::nullopt},
      {"3", std::nullopt},
      {"-", std::nullopt},
      {"s", std::nullopt},
      {".", std::nullopt},
      {".s", std::nullopt},
      {"1d", std::nullopt},
      {"1 h", std::nullopt},
      {" 1h", std::nullopt},
      {"1h ", std::nullopt},
      {"1H", std::nullopt},
      {"9223372036854775808ns", std::nullopt},
      {"3000000h", std::nullopt},
      {"99999999999999999999999h", std::nullopt},
  };
  for (const Row& row : rows) {
    auto parsed = ParseDuration(row.text);
    EXPECT_EQ(parsed.has_value(), row.nanoseconds.has_value()) << row.text;
    if (parsed && row.nanoseconds) {
      EXPECT_EQ(parsed->count(), *row.nanoseconds) << row.text;
    }
  }
}

TEST(Duration, IsWrittenShort) {
  for (std::string text : {"0s", "45s", "1m", "1h30m", "24h", "1h0.5s", "0.000000001s", "-1m"}) {
    auto parsed = ParseDuration(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(FormatDuration(*parsed), text);
  }
}

// Validators of JSON Schemas go back and try again: with many ways to read each number, that took days.
TEST(Duration, ItsPatternsReadEachTextInOneWay) {
  std::string text;
  for (int i = 0; i < 12; i++) text += "36913691093093s";
  for (const char* pattern :
       {kDurationPattern, kDurationFromZeroPattern, kPositiveDurationPattern, kDurationFromAMinutePattern}) {
    const std::regex compiled(pattern);
    EXPECT_TRUE(std::regex_search(text, compiled)) << pattern;
    EXPECT_FALSE(std::regex_search(text + "60", compiled)) << pattern;
  }
}

}  // namespace
}  // namespace prefetch::doc::duration_test
