#include "registry/response.h"

#include <gtest/gtest.h>

#include "http/headers.h"
#include "rows.h"

namespace prefetch::registry::redirect_test {
namespace {

using std::chrono::milliseconds;

http::AbsoluteUrl Url(const std::string& text) {
  auto url = http::ParseAbsoluteUrl(text);
  EXPECT_TRUE(url) << text;
  return url ? *url : http::AbsoluteUrl();
}

TEST(IsRedirect, FiveOfThem) {
  for (int status = 300; status < 400; status++) {
    bool is = status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
    EXPECT_EQ(IsRedirect(status), is) << status;
  }
}

TEST(FollowRedirect, WhereTo) {
  auto follow = [](const std::string& from, const std::string& location) -> std::string {
    auto next = FollowRedirect({Url(from)}, location);
    return next ? next->ToString() : std::string(base::EnumName(next.error().code()));
  };
  EXPECT_EQ(follow("https://a/v2/x", "https://cdn/y?sig=1"), "https://cdn/y?sig=1");
  EXPECT_EQ(follow("https://a/v2/x", "/v2/y"), "https://a/v2/y");
  EXPECT_EQ(follow("http://a/v2/x", "https://a/v2/x"), "https://a/v2/x");
  EXPECT_EQ(follow("https://a/v2/x", "http://a/v2/x"), "PermissionDenied");
  EXPECT_EQ(follow("https://a/v2/x", "https://a/v2/x"), "https://a/v2/x");
  EXPECT_EQ(follow("https://a/v2/x", "https://u:p@b/"), "PermissionDenied") << "the runtime follows it";
  EXPECT_EQ(follow("https://a/v2/x", "https://a/y z"), "PermissionDenied");
  EXPECT_EQ(follow("https://a/v2/x", "https://a:x/"), "InvalidArgument");
  EXPECT_EQ(follow("https://a/v2/x", ""), "InvalidArgument");
  EXPECT_EQ(follow("https://a/v2/x", "ftp://b/"), "InvalidArgument");
}

TEST(SameServer, SchemeHostAndPort) {
  EXPECT_TRUE(SameServer(Url("https://a/x"), Url("https://A:443/y")));
  EXPECT_FALSE(SameServer(Url("https://a/x"), Url("https://a:444/x")));
  EXPECT_FALSE(SameServer(Url("https://a/x"), Url("https://b/x")));
  EXPECT_FALSE(SameServer(Url("https://a:80/x"), Url("http://a:80/x")));
}

constexpr std::string_view kDate = "Fri, 20 Nov 2026 08:00:00 GMT";

struct RetryCase {
  std::string name, value, date;
  int milliseconds;  // 0: none
};

TEST_TABLE(RetryAfterTest, Table, RetryCase) {
  base::WallTime now = *http::ParseDate("Fri, 20 Nov 2026 09:00:00 GMT");
  auto wait = ParseRetryAfter(row.value, row.date, now);
  EXPECT_EQ(wait.value_or(milliseconds(0)).count(), row.milliseconds);
}

TEST_ROWS(RetryAfter, RetryAfterTest, {"Seconds", "120", "", 120'000}, {"Fraction", "1.5", "", 1'500},
          {"Blanks", " 30 ", "", 30'000}, {"AtLeastOneSecond", "0", "", 1'000},
          {"AtMostSixHours", "86400", "", 21'600'000}, {"Negative", "-5", "", 0}, {"Word", "soon", "", 0},
          {"Empty", "", "", 0}, {"Exponent", "1e3", "", 0}, {"Hexadecimal", "0x10", "", 0},
          {"Dot", ".", "", 0}, {"TwoDots", "1.2.3", "", 0},
          {"DateFromTheAnswersDate", "Fri, 20 Nov 2026 08:02:00 GMT", std::string(kDate), 120'000},
          {"DateFromTheClock", "Fri, 20 Nov 2026 09:01:00 GMT", "", 60'000},
          {"DateFromTheClockIfDateIsBroken", "Fri, 20 Nov 2026 09:01:00 GMT", "x", 60'000},
          {"Rfc850Date", "Friday, 20-Nov-26 08:02:00 GMT", std::string(kDate), 120'000},
          {"AsctimeDate", "Fri Nov 20 08:02:00 2026", std::string(kDate), 120'000},
          {"PastDate", "Fri, 20 Nov 2026 07:00:00 GMT", std::string(kDate), 0},
          {"FarDate", "Fri, 20 Nov 2027 07:00:00 GMT", std::string(kDate), 21'600'000},
          {"UnixTime", "1795165260", "", 60'000}, {"UnixTimeThatNoClockHolds", "10077777777", "", 21'600'000},
          {"UnixTimeSeenFromDate", "1795161660", std::string(kDate), 60'000},
          {"PastUnixTime", "1000000001", "", 0}, {"UnixTimeInMilliseconds", "1795165260000", "", 0});

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
}  // namespace prefetch::registry::redirect_test
