// Requests for tokens, and the answers to them.
#include <gtest/gtest.h>

#include "registry/login.h"
#include "registry/token_cache.h"
#include "rows.h"

namespace prefetch::registry::token_test {
namespace {

using Texts = std::vector<std::string>;
using std::chrono::seconds;

TEST(PullScopes, OnlyPullEachOnceSorted) {
  const struct {
    std::string challenge, path;
    Texts expect;
  } rows[] = {
      {"", "library/x", {"repository:library/x:pull"}},
      {"repository:library/x:pull", "library/x", {"repository:library/x:pull"}},
      {"repository:x:pull,push repository:y:pull", "x", {"repository:x:pull", "repository:y:pull"}},
      {"repository:x:push,delete", "x", {"repository:x:pull"}},
      {"repository:x:*", "x", {"repository:x:pull"}},
      {"repository:z:push", "x", {"repository:x:pull"}},
      {"registry:catalog:*", "x", {"repository:x:pull"}},
      {"aws", "docker/library/busybox", {"aws", "repository:docker/library/busybox:pull"}},
      {"repository(plugin):p:pull", "x", {"repository(plugin):p:pull", "repository:x:pull"}},
      {"repository:host:5000/x:pull", "x", {"repository:host:5000/x:pull", "repository:x:pull"}},
      {"  a   a ", "x", {"a", "repository:x:pull"}},
  };
  for (const auto& row : rows) EXPECT_EQ(PullScopes(row.challenge, row.path), row.expect) << row.challenge;
  std::string many;
  for (int i = 0; i < 100; i++) many += "s" + std::to_string(i) + " ";
  EXPECT_EQ(PullScopes(many, "x").size(), 16U);
}

TEST(TokenUrl, TheRealmsQueryStays) {
  auto realm = http::ParseAbsoluteUrl("https://a/t?x=1&y=2#z");
  auto bare = http::ParseAbsoluteUrl("https://auth.docker.io/token");
  ASSERT_TRUE(realm && bare);
  EXPECT_EQ(TokenUrl(*realm, "s", {"repository:x:pull"}),
            "https://a/t?x=1&y=2&service=s&scope=repository%3Ax%3Apull");
  EXPECT_EQ(TokenUrl(*bare, "", {"aws", "repository:a/b:pull"}),
            "https://auth.docker.io/token?scope=aws&scope=repository%3Aa%2Fb%3Apull");
  EXPECT_EQ(PasswordForm({.username = "m&e", .password = base::Secret("a&b=c")}, "reg istry", {"x", "y"}),
            "grant_type=password&client_id=prefetchd&scope=x%20y&service=reg%20istry&username=m%26e&"
            "password=a%26b%3Dc");
}

struct TokenCase {
  std::string name;
  std::string body;
  int lifetime = 0;  // 0: refused
};

// The judge of the family "token" (tests/judges) has what is a token.
TEST_TABLE(TokenResponseTest, Table, TokenCase) {
  auto token = ParseTokenResponse(row.body);
  ASSERT_EQ(token.ok(), row.lifetime != 0);
  if (token) {
    EXPECT_EQ(token->lifetime, seconds(row.lifetime));
  }
}

TEST_ROWS(Tokens, TokenResponseTest,
          {"Token", R"({"token":"a.b-c","expires_in":300,"issued_at":"2026-08-01T10:00:00Z"})", 300},
          {"NoLifetime", R"({"token":"t"})", 60}, {"ZeroLifetime", R"({"token":"t","expires_in":0})", 60},
          {"NegativeLifetime", R"({"token":"t","expires_in":-5})", 60},
          {"KeyInAnotherCase", R"({"Token":"t","EXPIRES_IN":300})", 300},
          {"HugeLifetime", R"({"token":"t","expires_in":9223372036854775807})", 86400},
          {"LineBreak", R"({"token":"a\r\nX: y"})"}, {"Blank", R"({"token":"a b"})"},
          {"NotAscii", R"({"token":"é"})"}, {"Nul", R"({"token":"a\u0000"})"},
          {"TokenTooLong", R"({"token":")" + std::string(65537, 'x') + "\"}"},
          {"LongestToken", R"({"token":")" + std::string(65536, 'x') + "\"}", 60},
          {"BodyTooLong", R"({"token":"t","x":")" + std::string(1 << 20, 'x') + "\"}"},
          {"TooDeep", R"({"token":"t","x":)" + std::string(1200, '[') + std::string(1200, ']') + "}"});

// containerd decodes an answer to POST into another struct.
TEST(TokenResponse, OfPost) {
  auto of = [](std::string_view body) {
    auto token = ParseTokenResponse(body, TokenRequestForm::kPost);
    return token ? std::string(token->text.Reveal()) : "";
  };
  EXPECT_EQ(of(R"({"access_token":"a"})"), "a");
  EXPECT_EQ(of(R"({"token":"t","access_token":"a","scope":"x"})"), "a");
  EXPECT_EQ(of(R"({"token":5,"access_token":"a"})"), "a");
  EXPECT_EQ(of(R"({"token":"t"})"), "");
  EXPECT_EQ(of(R"({"access_token":"a","scope":5})"), "");
}

TEST(UsableFor, UntilAHalfMinuteBeforeItsEndOrForHalfOfItsLife) {
  EXPECT_EQ(UsableFor(seconds(300)), seconds(270));
  EXPECT_EQ(UsableFor(seconds(60)), seconds(30));
  EXPECT_EQ(UsableFor(seconds(40)), seconds(20));
  EXPECT_EQ(UsableFor(seconds(1)), seconds(0));
}

TEST(IdentityOf, TellsCredentialsApartAndHoldsNone) {
  auto of = [](const std::string& user, const std::string& password) {
    image::AuthConfig credential{.username = user, .password = base::Secret(password)};
    return IdentityOf(&credential);
  };
  EXPECT_EQ(of("a", "b"), of("a", "b"));
  EXPECT_NE(of("a", "b"), of("a", "c"));
  EXPECT_NE(of("ab", ""), of("a", "b"));
  EXPECT_EQ(IdentityOf(nullptr), "anonymous");
  EXPECT_EQ(of("user", "secret").find("secret"), std::string::npos);
}

}  // namespace
}  // namespace prefetch::registry::token_test
