#include "http/headers.h"

#include <gtest/gtest.h>

namespace prefetch::http::date_test {
namespace {

TEST(ParseDate, ThreeSpellings) {
  auto meant = ParseDate("Fri, 20 Nov 2026 08:00:00 GMT");
  ASSERT_TRUE(meant);
  EXPECT_EQ(base::Rfc3339(*meant), "2026-11-20T08:00:00Z");
  EXPECT_EQ(ParseDate("Friday, 20-Nov-26 08:00:00 GMT"), meant);
  EXPECT_EQ(ParseDate("Fri Nov 20 08:00:00 2026"), meant);
  EXPECT_EQ(ParseDate("Sun Nov  1 08:00:00 2026"), ParseDate("Sun, 01 Nov 2026 08:00:00 GMT"));
  EXPECT_EQ(base::Rfc3339(*ParseDate("Friday, 20-Nov-70 08:00:00 GMT")), "1970-11-20T08:00:00Z");
  EXPECT_EQ(base::Rfc3339(*ParseDate("Wednesday, 20-Nov-69 08:00:00 GMT")), "2069-11-20T08:00:00Z");
  for (std::string_view wrong :
       {"", "Fri, 20 Nov 2026 08:00:00", "Fri, 20 Nov 2026 08:00:00 CET", "Fri, 31 Feb 2026 08:00:00 GMT",
        "Fri, 20 Now 2026 08:00:00 GMT", "Fri, 20 Nov 2026 24:00:00 GMT", "Fri, 20 Nov 2026 08:00 GMT",
        "2026-11-20T08:00:00Z", "Fri, 20 Nov 99999999999999999999 08:00:00 GMT",
        "Fri, 20 Nov 0026 08:00:00 GMT", "Fri, 20 Nov 9999 08:00:00 GMT", "a b c d e f", "a b c d e",
        "Fri, 20 Nov 4294969322 08:00:00 GMT", "Fri, 4294967316 Nov 2026 08:00:00 GMT"}) {
    EXPECT_FALSE(ParseDate(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace prefetch::http::date_test
