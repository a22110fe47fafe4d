#include "registry/response.h"

#include <gtest/gtest.h>

#include "http/headers.h"

namespace prefetch::registry::retry_after_test {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kDate = "Fri, 20 Nov 2026 08:00:00 GMT";

struct RetryCase {
  std::string name, value, date;
  int milliseconds;  // 0: none
};

class RetryAfterTest : public testing::TestWithParam<RetryCase> {};

TEST_P(RetryAfterTest, Table) {
  base::WallTime now = *http::ParseDate("Fri, 20 Nov 2026 09:00:00 GMT");
  auto wait = ParseRetryAfter(GetParam().value, GetParam().date, now);
  EXPECT_EQ(wait.value_or(milliseconds(0)).count(), GetParam().milliseconds);
}

INSTANTIATE_TEST_SUITE_P(
    RetryAfter, RetryAfterTest,
    testing::Values(RetryCase{"Seconds", "120", "", 120'000}, RetryCase{"Fraction", "1.5", "", 1'500},
                    RetryCase{"Blanks", " 30 ", "", 30'000}, RetryCase{"AtLeastOneSecond", "0", "", 1'000},
                    RetryCase{"AtMostSixHours", "86400", "", 21'600'000}, RetryCase{"Negative", "-5", "", 0},
                    RetryCase{"Word", "soon", "", 0}, RetryCase{"Empty", "", "", 0},
                    RetryCase{"Exponent", "1e3", "", 0}, RetryCase{"Hexadecimal", "0x10", "", 0},
                    RetryCase{"Dot", ".", "", 0}, RetryCase{"TwoDots", "1.2.3", "", 0},
                    RetryCase{"DateFromTheAnswersDate", "Fri, 20 Nov 2026 08:02:00 GMT", std::string(kDate),
                              120'000},
                    RetryCase{"DateFromTheClock", "Fri, 20 Nov 2026 09:01:00 GMT", "", 60'000},
                    RetryCase{"DateFromTheClockIfDateIsBroken", "Fri, 20 Nov 2026 09:01:00 GMT", "x", 60'000},
                    RetryCase{"Rfc850Date", "Friday, 20-Nov-26 08:02:00 GMT", std::string(kDate), 120'000},
                    RetryCase{"AsctimeDate", "Fri Nov 20 08:02:00 2026", std::string(kDate), 120'000},
                    RetryCase{"PastDate", "Fri, 20 Nov 2026 07:00:00 GMT", std::string(kDate), 0},
                    RetryCase{"FarDate", "Fri, 20 Nov 2027 07:00:00 GMT", std::string(kDate), 21'600'000},
                    RetryCase{"UnixTime", "1795165260", "", 60'000},
                    RetryCase{"UnixTimeThatNoClockHolds", "10077777777", "", 21'600'000},
                    RetryCase{"UnixTimeSeenFromDate", "1795161660", std::string(kDate), 60'000},
                    RetryCase{"PastUnixTime", "1000000001", "", 0},
                    RetryCase{"UnixTimeInMilliseconds", "1795165260000", "", 0}),
    [](const auto& row) { return row.param.name; });

TEST(ParseRateLimit, DockerHub) {
  using Limit = std::optional<RateLimitValue>;
  EXPECT_EQ(ParseRateLimit("100;w=21600"), (Limit{{100, std::chrono::seconds(21600)}}));
  EXPECT_EQ(ParseRateLimit("76"), (Limit{{76, std::chrono::seconds(0)}}));
  for (std::string_view wrong : {"", "x", "100;", "100;w=", "100;w=x", "100;b=1", "100;w=1;w=2", "-1",
                                 "100; w=21600", "99999999999999999999", "1;w=99999999999999999999"}) {
    EXPECT_FALSE(ParseRateLimit(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace prefetch::registry::retry_after_test
