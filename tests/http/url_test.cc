#include "http/url.h"

#include <gtest/gtest.h>

#include "base/redactor.h"
#include "base/secret.h"
#include "base/text.h"

namespace prefetch::http::url_test {
namespace {

using Query = std::vector<std::pair<std::string, std::string>>;

struct TargetCase {
  std::string name, target, path;
  Query query;
};
class ParseTargetTest : public testing::TestWithParam<TargetCase> {};
TEST_P(ParseTargetTest, IsTakenApart) {
  auto target = ParseTarget(GetParam().target);
  ASSERT_TRUE(target) << target.error().message();
  EXPECT_EQ(target->path, GetParam().path);
  EXPECT_EQ(target->query, GetParam().query);
}
INSTANTIATE_TEST_SUITE_P(
    Url, ParseTargetTest,
    testing::Values(
        TargetCase{"Root", "/", "/", {}}, TargetCase{"Plain", "/v1/status", "/v1/status", {}},
        TargetCase{"Slash", "/v1/images/reg%3A5000%2fa%2Fb", "/v1/images/reg:5000/a/b", {}},
        TargetCase{"DotsStay", "/a/../b//c", "/a/../b//c", {}},
        TargetCase{"PlusInPathStays", "/a+b", "/a+b", {}}, TargetCase{"Utf8", "/%C3%A4", "/\xC3\xA4", {}},
        TargetCase{
            "Query", "/readyz?verbose&policy=Never", "/readyz", {{"verbose", ""}, {"policy", "Never"}}},
        TargetCase{"Twice", "/x?a=1&a=2", "/x", {{"a", "1"}, {"a", "2"}}},
        TargetCase{"Escaped", "/x?a%3D=%26+b%2B", "/x", {{"a=", "& b+"}}},
        TargetCase{"EqualsInValue", "/x?a=b=c", "/x", {{"a", "b=c"}}},
        TargetCase{"EmptyParts", "/x?&&a&", "/x", {{"a", ""}}}, TargetCase{"EmptyQuery", "/x?", "/x", {}},
        TargetCase{"QuestionInQuery", "/x?a=?", "/x", {{"a", "?"}}},
        TargetCase{"AbsoluteForm", "http://host:1/x?a=b", "/x", {{"a", "b"}}}),
    [](const auto& row) { return row.param.name; });
INSTANTIATE_TEST_SUITE_P(AbsoluteWithoutPath, ParseTargetTest,
                         testing::Values(TargetCase{"Bare", "HTTP://host", "/", {}}),
                         [](const auto& row) { return row.param.name; });

struct BadTarget {
  std::string name, target;
};
class BadTargetTest : public testing::TestWithParam<BadTarget> {};
TEST_P(BadTargetTest, IsRefused) {
  auto target = ParseTarget(GetParam().target);
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().code(), base::Code::kInvalidArgument);
}
INSTANTIATE_TEST_SUITE_P(Url, BadTargetTest,
                         testing::Values(BadTarget{"Empty", ""}, BadTarget{"Star", "*"},
                                         BadTarget{"Relative", "a/b"}, BadTarget{"Nul", "/a%00b"},
                                         BadTarget{"NulInQuery", "/a?b=%00"},
                                         BadTarget{"RawNul", std::string("/a\0b", 4)},
                                         BadTarget{"HalfEscape", "/a%4"}, BadTarget{"LonePercent", "/a%"},
                                         BadTarget{"NotHex", "/a%zz"}, BadTarget{"SignedHex", "/a%+1"},
                                         BadTarget{"NotUtf8", "/%ff"}, BadTarget{"Overlong", "/%c0%af"},
                                         BadTarget{"RawHighByte", "/\xC3\xA4"}, BadTarget{"Blank", "/a b"},
                                         BadTarget{"Tab", "/a\tb"}, BadTarget{"Fragment", "/a#b"},
                                         BadTarget{"Authority", "host:80"}, BadTarget{"QueryOnly", "?a=b"},
                                         BadTarget{"BadName", "/a?%=1"}),
                         [](const auto& row) { return row.param.name; });

TEST(ParseTarget, ParametersAreBounded) {
  std::string target = "/x?a";
  for (int i = 1; i < 100; i++) target += "&a";
  EXPECT_TRUE(ParseTarget(target));
  EXPECT_FALSE(ParseTarget(target + "&a"));
}

TEST(PercentEncode, ComesBackWhole) {
  std::string every;
  for (int c = 0; c < 256; c++) every += static_cast<char>(c);
  EXPECT_EQ(PercentDecode(PercentEncode(every)), every);
  EXPECT_EQ(PercentEncode("reg:5000/a b", "/:"), "reg:5000/a%20b");
  EXPECT_EQ(PercentEncode("reg:5000/a"), "reg%3A5000%2Fa");
}

struct DisplayCase {
  std::string name, url, shown;
};
class DisplayUrlTest : public testing::TestWithParam<DisplayCase> {};
TEST_P(DisplayUrlTest, HidesWhatMayBeSecret) {
  EXPECT_EQ(DisplayUrl(GetParam().url), GetParam().shown);
}
INSTANTIATE_TEST_SUITE_P(
    Url, DisplayUrlTest,
    testing::Values(DisplayCase{"Plain", "https://reg:5000/v2/a", "https://reg:5000/v2/a"},
                    DisplayCase{"Query", "https://reg/v2/?token=t0p", "https://reg/v2/"},
                    DisplayCase{"Fragment", "https://reg/v2/#t0p", "https://reg/v2/"},
                    DisplayCase{"Userinfo", "https://u:t0p@reg/v2/", "https://reg/v2/"},
                    DisplayCase{"SlashInPassword", "https://u:t0/p@reg/v2/", "https://reg/v2/"},
                    DisplayCase{"AtInPassword", "https://u:t0@p@reg/v2/", "https://reg/v2/"},
                    DisplayCase{"NoScheme", "u:t0p@reg/v2?x", "reg/v2"},
                    DisplayCase{"Control", "https://reg/a\r\n\x1b[31m", "https://reg/a"},
                    DisplayCase{"Empty", "", ""}),
    [](const auto& row) { return row.param.name; });

// A redirect or a realm repeats what was sent to it.
TEST(DisplayUrl, HidesSecretsInPathAndHost) {
  const std::string pair = base::Base64Encode("robot:of-a-redirect-4711");
  base::RememberSecret(base::Secret("Basic " + pair));
  // "/" is a digit of base64, so its neighbours go with it.
  EXPECT_EQ(DisplayUrl("https://reg/v2/" + pair + "/x"), "https:[redacted]");
  EXPECT_EQ(DisplayUrl("https://of-a-redirect-4711.example/"), "https://[redacted].example/");
}

}  // namespace
}  // namespace prefetch::http::url_test
