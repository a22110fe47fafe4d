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

TEST(Timestamp, WhatGoTakes) {
  for (const char* text : {
           "2026-08-01T10:00:00Z",
           "2026-08-01T23:59:59Z",
           "2026-08-01T10:00:00.123456789123Z",
           "2026-08-01T10:00:00,5Z",
           "2026-08-01T9:00:00Z",
           "2026-08-01T10:00:00+02:00",
           "2026-08-01T10:00:00.5-24:60",
           "2024-02-29T00:00:00Z",
           "2000-02-29T00:00:00Z",
           "0000-01-01T00:00:00Z",
       }) {
    EXPECT_TRUE(ParseTimestamp(text)) << text;
  }
}

TEST(Timestamp, HasItsParts) {
  const auto time = ParseTimestamp("2024-02-29T9:08:07,6-24:60");
  ASSERT_TRUE(time);
  EXPECT_EQ(time->date, std::chrono::year(2024) / 2 / 29);
  EXPECT_EQ(time->of_day, std::chrono::seconds(9 * 3600 + 8 * 60 + 7));
  EXPECT_EQ(time->offset, std::chrono::hours(-25));
}

TEST(Timestamp, WhatGoRefuses) {
  for (const char* text : {
           "",
           "today",
           "2026-08-01",
           "2026-08-01 10:00:00Z",
           "2026-08-01t10:00:00Z",
           "2026-08-01T10:00:00",
           "2026-08-01T10:00:00z",
           "2026-08-01T10:00:00Z ",
           " 2026-08-01T10:00:00Z",
           "26-08-01T10:00:00Z",
           "+026-08-01T10:00:00Z",
           "2026-8-01T10:00:00Z",
           "2026-13-01T10:00:00Z",
           "2026-00-01T10:00:00Z",
           "2026-08-00T10:00:00Z",
           "2026-04-31T10:00:00Z",
           "2026-02-29T10:00:00Z",
           "1900-02-29T10:00:00Z",
           "2026-08-01T24:00:00Z",
           "2026-08-01T10:60:00Z",
           "2026-08-01T10:00:60Z",
           "2026-08-01T10:0:00Z",
           "2026-08-01T10:00:00.Z",
           "2026-08-01T10:00:00+0200",
           "2026-08-01T10:00:00+25:00",
           "2026-08-01T10:00:00+02:61",
           "2026-08-01T10:00:00+2:00",
       }) {
    EXPECT_FALSE(ParseTimestamp(text)) << text;
  }
}

}  // namespace
}  // namespace prefetch::doc::duration_test
