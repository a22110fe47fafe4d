#include "http/handler.h"

#include <gtest/gtest.h>

namespace prefetch::http::host_names_test {
namespace {

const std::vector<std::string_view> kOwn = {"Node7.dc1.example.com"};

TEST(HostNames, NamesThatNoStrangerOwns) {
  for (const char* ours :
       {"", "10.0.0.1", "10.0.0.1:9477", "[fd00::1]", "[::1]:9477", "localhost", "localhost:8001",
        "LOCALHOST.", "a.localhost", "prefetchd", "n1:9477", "prefetchd.prefetchd.svc",
        "prefetchd.prefetchd:9477", "x.prefetchd.svc.cluster.local:9477",
        "ip-10-0-0-1.eu-west-1.compute.internal", "node7.dc1.example.com", "NODE7.DC1.EXAMPLE.COM.:9477"}) {
    EXPECT_TRUE(IsTrustedHostName(ours, kOwn)) << ours;
  }
  for (const char* foreign :
       {"evil.example", "evil.example:9477", "10.0.0.1.evil.example", "10.0.0.1.nip.io", "svc.evil.example",
        "prefetchd.prefetchd.svc.evil.example", "localhost.evil.example",
        "node7.dc1.example.com.evil.example", "xnode7.dc1.example.com", "evil.example@10.0.0.1",
        "10.0.0.1:80@evil.example", "[::1", "[::1]x", "10.0.0.1:x", "evil.example\t", " ", "a b", ".",
        "evil.example."}) {
    EXPECT_FALSE(IsTrustedHostName(foreign, kOwn)) << foreign;
  }
}

TEST(HostNames, APageIsToldByHeadersThatItCannotSet) {
  struct Case {
    Headers headers;
    bool page;
  };
  for (const Case& each :
       {Case{{}, false}, Case{{{"Host", "10.0.0.1"}}, false}, Case{{{"Host", "evil.example"}}, true},
        Case{{{"Host", "10.0.0.1"}, {"Host", "evil.example"}}, true},
        Case{{{"Host", "api.example.com:6443"}, {"Accept-Encoding", "gzip"}}, false},
        Case{{{"Host", "api.example.com:6443"}, {"Sec-Prefetchd", "1"}}, false},
        Case{{{"Host", "evil.example"}, {"Accept-Encoding", "gzip, deflate"}}, true},
        Case{{{"Host", "evil.example"}, {"X-Forwarded-Host", "10.0.0.1"}}, true},
        Case{{{"Host", "evil.example"}, {"Accept-Encoding", ""}}, true}}) {
    EXPECT_EQ(MayComeFromBrowserPage({.headers = each.headers}, kOwn), each.page)
        << each.headers.Get("Host").value_or("") << " " << each.headers.Get("Accept-Encoding").value_or("");
  }
}

}  // namespace
}  // namespace prefetch::http::host_names_test
