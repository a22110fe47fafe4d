#include "http/url.h"

#include <gtest/gtest.h>

#include "base/redactor.h"
#include "base/secret.h"
#include "base/text.h"
#include "http/curl_request.h"
#include "must.h"
#include "rows.h"

namespace prefetch::http::url_test {
namespace {

using Query = std::vector<std::pair<std::string, std::string>>;

struct TargetCase {
  std::string name, target, path;
  Query query;
};
TEST_TABLE(ParseTargetTest, IsTakenApart, TargetCase) {
  auto target = tests::Must(ParseTarget(row.target));
  EXPECT_EQ(target->path, row.path);
  EXPECT_EQ(target->query, row.query);
}
TEST_ROWS(Url, ParseTargetTest, {"Root", "/", "/", {}}, {"Plain", "/v1/status", "/v1/status", {}},
          {"Slash", "/v1/images/reg%3A5000%2fa%2Fb", "/v1/images/reg:5000/a/b", {}},
          {"DotsStay", "/a/../b//c", "/a/../b//c", {}}, {"PlusInPathStays", "/a+b", "/a+b", {}},
          {"Utf8", "/%C3%A4", "/\xC3\xA4", {}},
          {"Query", "/readyz?verbose&policy=Never", "/readyz", {{"verbose", ""}, {"policy", "Never"}}},
          {"Twice", "/x?a=1&a=2", "/x", {{"a", "1"}, {"a", "2"}}},
          {"Escaped", "/x?a%3D=%26+b%2B", "/x", {{"a=", "& b+"}}},
          {"EqualsInValue", "/x?a=b=c", "/x", {{"a", "b=c"}}}, {"EmptyParts", "/x?&&a&", "/x", {{"a", ""}}},
          {"EmptyQuery", "/x?", "/x", {}}, {"QuestionInQuery", "/x?a=?", "/x", {{"a", "?"}}},
          {"AbsoluteForm", "http://host:1/x?a=b", "/x", {{"a", "b"}}});
TEST_ROWS(AbsoluteWithoutPath, ParseTargetTest, {"Bare", "HTTP://host", "/", {}});

struct BadTarget {
  std::string name, target;
};
TEST_TABLE(BadTargetTest, IsRefused, BadTarget) {
  const auto error = tests::MustFail(ParseTarget(row.target));
  EXPECT_EQ(error.code(), base::Code::kInvalidArgument);
}
TEST_ROWS(Url, BadTargetTest, {"Empty", ""}, {"Star", "*"}, {"Relative", "a/b"}, {"Nul", "/a%00b"},
          {"NulInQuery", "/a?b=%00"}, {"RawNul", std::string("/a\0b", 4)}, {"HalfEscape", "/a%4"},
          {"LonePercent", "/a%"}, {"NotHex", "/a%zz"}, {"SignedHex", "/a%+1"}, {"NotUtf8", "/%ff"},
          {"Overlong", "/%c0%af"}, {"RawHighByte", "/\xC3\xA4"}, {"Blank", "/a b"}, {"Tab", "/a\tb"},
          {"Fragment", "/a#b"}, {"Authority", "host:80"}, {"QueryOnly", "?a=b"}, {"BadName", "/a?%=1"});

TEST(ParseTarget, ParametersAreBounded) {
  std::string target = "/x?a";
  for (int i = 1; i < 100; i++) target += "&a";
  EXPECT_TRUE(ParseTarget(target));
  EXPECT_FALSE(ParseTarget(target + "&a"));
}

struct DisplayCase {
  std::string name, url, shown;
};
TEST_TABLE(DisplayUrlTest, HidesWhatMayBeSecret, DisplayCase) {
  EXPECT_EQ(DisplayUrl(row.url), row.shown);
}
TEST_ROWS(Url, DisplayUrlTest, {"Plain", "https://reg:5000/v2/a", "https://reg:5000/v2/a"},
          {"Query", "https://reg/v2/?token=t0p", "https://reg/v2/"},
          {"Fragment", "https://reg/v2/#t0p", "https://reg/v2/"},
          {"Userinfo", "https://u:t0p@reg/v2/", "https://reg/v2/"},
          {"SlashInPassword", "https://u:t0/p@reg/v2/", "https://reg/v2/"},
          {"AtInPassword", "https://u:t0@p@reg/v2/", "https://reg/v2/"},
          {"NoScheme", "u:t0p@reg/v2?x", "reg/v2"}, {"Control", "https://reg/a\r\n\x1b[31m", "https://reg/a"},
          {"Empty", "", ""});

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

TEST_TABLE(AbsoluteUrlTest, Table, UrlCase) {
  auto url = ParseAbsoluteUrl(row.text);
  EXPECT_EQ(url ? url->ToString() : "", row.again);
  if (url) {
    EXPECT_EQ(url->HostPort(), row.host_port);
    EXPECT_EQ(ParseAbsoluteUrl(url->ToString()).ok(), true);
    EXPECT_EQ(url->scheme + "://" + url->Authority() + url->target, url->ToString());
  }
}

TEST_ROWS(
    Url, AbsoluteUrlTest, {"Plain", "https://reg.example/v2/", "https://reg.example/v2/", "reg.example:443"},
    {"NoPath", "http://reg.example", "http://reg.example/", "reg.example:80"},
    {"QueryOnly", "https://a?x=1&y=2", "https://a/?x=1&y=2", "a:443"},
    {"FragmentIsDropped", "https://a/b?c#d", "https://a/b?c", "a:443"},
    {"SchemeAndHostInLowerCase", "HTTPS://Reg.EXAMPLE/Path", "https://reg.example/Path", "reg.example:443"},
    {"DefaultPortGoes", "https://a:443/x", "https://a/x", "a:443"},
    {"OtherPortStays", "http://a:443/x", "http://a:443/x", "a:443"},
    {"EmptyPort", "http://a:/x", "http://a/x", "a:80"},
    {"Ipv6", "http://[2001:DB8::1]:5000/x", "http://[2001:db8::1]:5000/x", "[2001:db8::1]:5000"},
    {"Interface", "https://[FE80::1%25Eth0.7]:6443/", "https://[fe80::1%25Eth0.7]:6443/",
     "[fe80::1%25Eth0.7]:6443"},
    {"NoInterface", "https://[fe80::1%25]/", ""}, {"InterfaceSlash", "https://[fe80::1%25a%2fb]/", ""},
    {"InterfaceOfAName", "https://a%25eth0/", ""},
    {"Ipv6WithoutPort", "https://[::1]", "https://[::1]/", "[::1]:443"}, {"Userinfo", "https://u:p@a/", ""},
    {"EmptyUserinfo", "https://@a/", ""},
    {"BackslashEndsTheHost", "https://a\\@b/", "https://a/\\@b/", "a:443"}, {"Port0", "https://a:0/", ""},
    {"Port65536", "https://a:65536/", ""}, {"PortWord", "https://a:x/", ""}, {"Ftp", "ftp://a/", ""},
    {"Relative", "/v2/", ""}, {"NoHost", "https:///x", ""}, {"OpenBracket", "https://[::1/", ""},
    {"ZoneInBrackets", "https://[fe80::1%eth0]/", ""}, {"AfterBracket", "https://[::1]x/", ""},
    {"Blank", "https://a/b c", ""}, {"LineBreak", "https://a/b\r\nX: y", ""},
    {"HostWithPercent", "https://a%2eb/", ""}, {"Empty", "", ""},
    {"TooLong", "https://a/" + std::string(9000, 'x'), ""});

TEST(ResolveLocation, AsSeenFromARequest) {
  auto base = tests::Must(ParseAbsoluteUrl("https://reg.example:5000/v2/a/b/manifests/v1?ns=x"));
  const struct {
    std::string location, target;
  } rows[] = {
      {"https://cdn.example/x?sig=1#f", "https://cdn.example/x?sig=1"},
      {"https://cdn.example/a/../x/./y?z=/../", "https://cdn.example/x/y?z=/../"},
      {"//cdn.example/x", "https://cdn.example/x"},
      {"//cdn.example/../x", "https://cdn.example/x"},
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

TEST_TABLE(NoProxyTest, Table, NoProxyCase) {
  auto url = tests::Must(ParseAbsoluteUrl(row.url));
  EXPECT_EQ(BypassesProxy(row.no_proxy, *url), row.bypasses);
}

TEST_ROWS(NoProxy, NoProxyTest, {"Empty", "", "https://a.example/", false},
          {"LocalhostNeverByProxy", "", "http://localhost:5000/", true},
          {"LocalhostAsSuffixIsAName", "", "http://x.localhost/", false},
          {"LoopbackNeverByProxy", "", "http://127.3.2.1:5000/", true},
          {"Loopback6NeverByProxy", "", "http://[::1]/", true},
          {"MappedLoopback", "", "http://[::ffff:127.0.0.1]/", true},
          {"Star", "*", "https://a.example/", true},
          {"StarAmongOthers", "b.example, *", "https://a.example/", true},
          {"HostItself", "a.example", "https://a.example/", true},
          {"HostBelow", "a.example", "https://x.a.example/", true},
          {"NotAPartOfALabel", "a.example", "https://xa.example/", false},
          {"DotHostNotItself", ".a.example", "https://a.example/", false},
          {"DotHostBelow", ".a.example", "https://x.a.example/", true},
          {"StarDotHostBelow", "*.a.example", "https://x.a.example/", true},
          {"StarDotHostNotItself", "*.a.example", "https://a.example/", false},
          {"CaseAndBlanks", " x , A.Example\t", "https://a.EXAMPLE/", true},
          {"EmptyEntries", ",,a.example,,", "https://a.example/", true},
          {"HostPort", "a.example:5000", "https://a.example:5000/", true},
          {"HostOtherPort", "a.example:5000", "https://a.example/", false},
          {"HostImpliedPort", "a.example:443", "https://a.example/", true},
          {"HostImpliedPortHttp", "a.example:443", "http://a.example/", false},
          {"DotHostPort", ".a.example:80", "http://x.a.example/", true},
          {"Ip", "10.1.2.3", "https://10.1.2.3:8443/", true},
          {"OtherIp", "10.1.2.3", "https://10.1.2.4/", false},
          {"IpPort", "10.1.2.3:443", "https://10.1.2.3/", true},
          {"IpOtherPort", "10.1.2.3:443", "https://10.1.2.3:8443/", false},
          {"PlainSuffixOfAnAddress", "2.3", "https://10.1.2.3/", true},  // a name's suffix, as in Go
          {"Ip6", "2001:db8::1", "https://[2001:db8:0::1]/", true},
          {"Ip6Port", "[2001:db8::1]:443", "https://[2001:db8::1]/", true},
          {"Ip6OtherPort", "[2001:db8::1]:80", "https://[2001:db8::1]/", false},
          {"Cidr", "10.0.0.0/8", "https://10.200.0.1/", true},
          {"CidrOutside", "10.0.0.0/8", "https://11.0.0.1/", false},
          {"CidrOddBits", "10.128.0.0/9", "https://10.127.0.1/", false},
          {"CidrOfNoName", "10.0.0.0/8", "https://ten.example/", false},
          {"Cidr0", "0.0.0.0/0", "https://8.8.8.8/", true},
          {"Cidr0IsNotIpv6", "0.0.0.0/0", "https://[2001:db8::1]/", false},
          {"Cidr6", "2001:db8::/32", "https://[2001:db8:1::1]/", true},
          {"Cidr6Outside", "2001:db8::/32", "https://[2001:db9::1]/", false},
          {"CidrTooWide", "10.0.0.0/33", "https://10.0.0.1/", false},
          {"PortAlone", ":443", "https://a.example/", false});

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
