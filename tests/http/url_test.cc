#include "http/url.h"

#include <gtest/gtest.h>

#include "base/redactor.h"
#include "base/secret.h"
#include "base/text.h"
#include "http/curl_request.h"

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

struct UrlCase {
  std::string name;
  std::string text;
  std::string again;  // ToString(), or "" if it is refused
  std::string host_port;
};

class AbsoluteUrlTest : public testing::TestWithParam<UrlCase> {};

TEST_P(AbsoluteUrlTest, Table) {
  auto url = ParseAbsoluteUrl(GetParam().text);
  EXPECT_EQ(url ? url->ToString() : "", GetParam().again);
  if (url) {
    EXPECT_EQ(url->HostPort(), GetParam().host_port);
    EXPECT_EQ(ParseAbsoluteUrl(url->ToString()).ok(), true);
    EXPECT_EQ(url->scheme + "://" + url->Authority() + url->target, url->ToString());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Url, AbsoluteUrlTest,
    testing::Values(
        UrlCase{"Plain", "https://reg.example/v2/", "https://reg.example/v2/", "reg.example:443"},
        UrlCase{"NoPath", "http://reg.example", "http://reg.example/", "reg.example:80"},
        UrlCase{"QueryOnly", "https://a?x=1&y=2", "https://a/?x=1&y=2", "a:443"},
        UrlCase{"FragmentIsDropped", "https://a/b?c#d", "https://a/b?c", "a:443"},
        UrlCase{"SchemeAndHostInLowerCase", "HTTPS://Reg.EXAMPLE/Path", "https://reg.example/Path",
                "reg.example:443"},
        UrlCase{"DefaultPortGoes", "https://a:443/x", "https://a/x", "a:443"},
        UrlCase{"OtherPortStays", "http://a:443/x", "http://a:443/x", "a:443"},
        UrlCase{"EmptyPort", "http://a:/x", "http://a/x", "a:80"},
        UrlCase{"Ipv6", "http://[2001:DB8::1]:5000/x", "http://[2001:db8::1]:5000/x", "[2001:db8::1]:5000"},
        UrlCase{"Interface", "https://[FE80::1%25Eth0.7]:6443/", "https://[fe80::1%25Eth0.7]:6443/",
                "[fe80::1%25Eth0.7]:6443"},
        UrlCase{"NoInterface", "https://[fe80::1%25]/", ""},
        UrlCase{"InterfaceSlash", "https://[fe80::1%25a%2fb]/", ""},
        UrlCase{"InterfaceOfAName", "https://a%25eth0/", ""},
        UrlCase{"Ipv6WithoutPort", "https://[::1]", "https://[::1]/", "[::1]:443"},
        UrlCase{"Userinfo", "https://u:p@a/", ""}, UrlCase{"EmptyUserinfo", "https://@a/", ""},
        UrlCase{"BackslashEndsTheHost", "https://a\\@b/", "https://a/\\@b/", "a:443"},
        UrlCase{"Port0", "https://a:0/", ""}, UrlCase{"Port65536", "https://a:65536/", ""},
        UrlCase{"PortWord", "https://a:x/", ""}, UrlCase{"Ftp", "ftp://a/", ""},
        UrlCase{"Relative", "/v2/", ""}, UrlCase{"NoHost", "https:///x", ""},
        UrlCase{"OpenBracket", "https://[::1/", ""}, UrlCase{"ZoneInBrackets", "https://[fe80::1%eth0]/", ""},
        UrlCase{"AfterBracket", "https://[::1]x/", ""}, UrlCase{"Blank", "https://a/b c", ""},
        UrlCase{"LineBreak", "https://a/b\r\nX: y", ""}, UrlCase{"HostWithPercent", "https://a%2eb/", ""},
        UrlCase{"Empty", "", ""}, UrlCase{"TooLong", "https://a/" + std::string(9000, 'x'), ""}),
    [](const auto& row) { return row.param.name; });

TEST(ResolveLocation, AsSeenFromARequest) {
  auto base = ParseAbsoluteUrl("https://reg.example:5000/v2/a/b/manifests/v1?ns=x");
  ASSERT_TRUE(base);
  const struct {
    std::string location, target;
  } rows[] = {
      {"https://cdn.example/x?sig=1#f", "https://cdn.example/x?sig=1"},
      {"//cdn.example/x", "https://cdn.example/x"},
      {"/login", "https://reg.example:5000/login"},
      {"/a/./b/../c", "https://reg.example:5000/a/c"},
      {"/../../c/..", "https://reg.example:5000/"},
      {"v2", "https://reg.example:5000/v2/a/b/manifests/v2"},
      {"../x?y=../z", "https://reg.example:5000/v2/a/b/x?y=../z"},
      {"?q=1", "https://reg.example:5000/v2/a/b/manifests/v1?q=1"},
      {"/x?u=http://y", "https://reg.example:5000/x?u=http://y"},
      {"/x#a b", "https://reg.example:5000/x"},
      {"#a", "https://reg.example:5000/v2/a/b/manifests/v1?ns=x"},
      {"ftp://x/", ""},
      {"https://u:p@x/", ""},
      {"//u@x/", ""},
      {"mailto:x", ""},
      {"", ""},
      {"/a b", ""},
  };
  for (const auto& row : rows) {
    auto url = ResolveLocation(*base, row.location);
    EXPECT_EQ(url ? url->ToString() : "", row.target) << row.location;
  }
}

// The rules of golang.org/x/net/http/httpproxy, a row each.
struct NoProxyCase {
  std::string name, no_proxy, url;
  bool bypasses;
};

class NoProxyTest : public testing::TestWithParam<NoProxyCase> {};

TEST_P(NoProxyTest, Table) {
  auto url = ParseAbsoluteUrl(GetParam().url);
  ASSERT_TRUE(url);
  EXPECT_EQ(BypassesProxy(GetParam().no_proxy, *url), GetParam().bypasses);
}

INSTANTIATE_TEST_SUITE_P(
    NoProxy, NoProxyTest,
    testing::Values(NoProxyCase{"Empty", "", "https://a.example/", false},
                    NoProxyCase{"LocalhostNeverByProxy", "", "http://localhost:5000/", true},
                    NoProxyCase{"LocalhostAsSuffixIsAName", "", "http://x.localhost/", false},
                    NoProxyCase{"LoopbackNeverByProxy", "", "http://127.3.2.1:5000/", true},
                    NoProxyCase{"Loopback6NeverByProxy", "", "http://[::1]/", true},
                    NoProxyCase{"MappedLoopback", "", "http://[::ffff:127.0.0.1]/", true},
                    NoProxyCase{"Star", "*", "https://a.example/", true},
                    NoProxyCase{"StarAmongOthers", "b.example, *", "https://a.example/", true},
                    NoProxyCase{"HostItself", "a.example", "https://a.example/", true},
                    NoProxyCase{"HostBelow", "a.example", "https://x.a.example/", true},
                    NoProxyCase{"NotAPartOfALabel", "a.example", "https://xa.example/", false},
                    NoProxyCase{"DotHostNotItself", ".a.example", "https://a.example/", false},
                    NoProxyCase{"DotHostBelow", ".a.example", "https://x.a.example/", true},
                    NoProxyCase{"StarDotHostBelow", "*.a.example", "https://x.a.example/", true},
                    NoProxyCase{"StarDotHostNotItself", "*.a.example", "https://a.example/", false},
                    NoProxyCase{"CaseAndBlanks", " x , A.Example\t", "https://a.EXAMPLE/", true},
                    NoProxyCase{"EmptyEntries", ",,a.example,,", "https://a.example/", true},
                    NoProxyCase{"HostPort", "a.example:5000", "https://a.example:5000/", true},
                    NoProxyCase{"HostOtherPort", "a.example:5000", "https://a.example/", false},
                    NoProxyCase{"HostImpliedPort", "a.example:443", "https://a.example/", true},
                    NoProxyCase{"HostImpliedPortHttp", "a.example:443", "http://a.example/", false},
                    NoProxyCase{"DotHostPort", ".a.example:80", "http://x.a.example/", true},
                    NoProxyCase{"Ip", "10.1.2.3", "https://10.1.2.3:8443/", true},
                    NoProxyCase{"OtherIp", "10.1.2.3", "https://10.1.2.4/", false},
                    NoProxyCase{"IpPort", "10.1.2.3:443", "https://10.1.2.3/", true},
                    NoProxyCase{"IpOtherPort", "10.1.2.3:443", "https://10.1.2.3:8443/", false},
                    NoProxyCase{"PlainSuffixOfAnAddress", "2.3", "https://10.1.2.3/",
                                true},  // a name's suffix, as in Go
                    NoProxyCase{"Ip6", "2001:db8::1", "https://[2001:db8:0::1]/", true},
                    NoProxyCase{"Ip6Port", "[2001:db8::1]:443", "https://[2001:db8::1]/", true},
                    NoProxyCase{"Ip6OtherPort", "[2001:db8::1]:80", "https://[2001:db8::1]/", false},
                    NoProxyCase{"Cidr", "10.0.0.0/8", "https://10.200.0.1/", true},
                    NoProxyCase{"CidrOutside", "10.0.0.0/8", "https://11.0.0.1/", false},
                    NoProxyCase{"CidrOddBits", "10.128.0.0/9", "https://10.127.0.1/", false},
                    NoProxyCase{"CidrOfNoName", "10.0.0.0/8", "https://ten.example/", false},
                    NoProxyCase{"Cidr0", "0.0.0.0/0", "https://8.8.8.8/", true},
                    NoProxyCase{"Cidr0IsNotIpv6", "0.0.0.0/0", "https://[2001:db8::1]/", false},
                    NoProxyCase{"Cidr6", "2001:db8::/32", "https://[2001:db8:1::1]/", true},
                    NoProxyCase{"Cidr6Outside", "2001:db8::/32", "https://[2001:db9::1]/", false},
                    NoProxyCase{"CidrTooWide", "10.0.0.0/33", "https://10.0.0.1/", false},
                    NoProxyCase{"PortAlone", ":443", "https://a.example/", false}),
    [](const auto& row) { return row.param.name; });

// net/http and golang.org/x/net/http/httpproxy define these readings.
TEST(Proxy, IsReadAsGoReadsIt) {
  EXPECT_EQ(NormalizeProxyUrl(""), "");
  EXPECT_EQ(NormalizeProxyUrl("proxy.test"), "http://proxy.test:80");
  EXPECT_EQ(NormalizeProxyUrl("proxy.test:3128/"), "http://proxy.test:3128");
  EXPECT_EQ(NormalizeProxyUrl("HTTP://me:p%40w@proxy.test"), "http://me:p%40w@proxy.test:80");
  EXPECT_EQ(NormalizeProxyUrl("https://[2001:db8::1]"), "https://[2001:db8::1]:443");
  EXPECT_EQ(NormalizeProxyUrl("http://proxy.test:"), "http://proxy.test:80");
  EXPECT_EQ(NormalizeProxyUrl("socks5://proxy.test"), "socks5h://proxy.test:1080");
  EXPECT_EQ(NormalizeProxyUrl("socks5h://proxy.test:9"), "socks5h://proxy.test:9");
}

}  // namespace
}  // namespace prefetch::http::url_test
