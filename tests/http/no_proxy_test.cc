#include "http/curl_request.h"

#include <gtest/gtest.h>

namespace prefetch::http::no_proxy_test {
namespace {

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
}  // namespace prefetch::http::no_proxy_test
