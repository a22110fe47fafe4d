#include "http/url.h"

#include <gtest/gtest.h>

namespace prefetch::http::absolute_url_test {
namespace {

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

}  // namespace
}  // namespace prefetch::http::absolute_url_test
