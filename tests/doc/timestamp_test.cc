#include "doc/duration.h"

#include <gtest/gtest.h>

namespace prefetch::doc::timestamp_test {
namespace {

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
}  // namespace prefetch::doc::timestamp_test
