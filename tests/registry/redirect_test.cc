#include "registry/response.h"

#include <gtest/gtest.h>

namespace prefetch::registry::redirect_test {
namespace {

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
    return next ? next->ToString() : std::string(base::CodeName(next.error().code()));
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

TEST(FollowRedirect, NineAreEnough) {
  std::vector<http::AbsoluteUrl> visited = {Url("https://a/0")};
  for (int i = 1; i <= 9; i++) {
    auto next = FollowRedirect(visited, "/" + std::to_string(i));
    ASSERT_TRUE(next);
    EXPECT_TRUE(FollowRedirect(visited, "/0")) << "a circle, until then";
    visited.push_back(*next);
  }
  EXPECT_FALSE(FollowRedirect(visited, "/10"));
}

TEST(SameServer, SchemeHostAndPort) {
  EXPECT_TRUE(SameServer(Url("https://a/x"), Url("https://A:443/y")));
  EXPECT_FALSE(SameServer(Url("https://a/x"), Url("https://a:444/x")));
  EXPECT_FALSE(SameServer(Url("https://a/x"), Url("https://b/x")));
  EXPECT_FALSE(SameServer(Url("https://a:80/x"), Url("http://a:80/x")));
}

}  // namespace
}  // namespace prefetch::registry::redirect_test
