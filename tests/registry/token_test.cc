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
  std::string token;  // empty: refused
  int lifetime = 60;
};

TEST_TABLE(TokenResponseTest, Table, TokenCase) {
  auto token = ParseTokenResponse(row.body);
  ASSERT_EQ(token.ok(), !row.token.empty());
  if (!token) return;
  EXPECT_EQ(token->text.Reveal(), row.token);
  EXPECT_EQ(token->lifetime, seconds(row.lifetime));
}

TEST_ROWS(Tokens, TokenResponseTest,
          {"Token", R"({"token":"a.b-c","expires_in":300,"issued_at":"2026-08-01T10:00:00Z"})", "a.b-c", 300},
          {"AccessTokenFirst", R"({"token":"t","access_token":"a"})", "a"},
          {"EmptyAccessToken", R"({"token":"t","access_token":""})", "t"},
          {"NoLifetime", R"({"token":"t"})", "t"}, {"ZeroLifetime", R"({"token":"t","expires_in":0})", "t"},
          {"NegativeLifetime", R"({"token":"t","expires_in":-5})", "t"},
          {"LifetimeAsText", R"({"token":"t","expires_in":"300"})", ""},
          {"TextBehind", R"({"token":"t"} and more)", "t"},
          {"KeyInAnotherCase", R"({"Token":"t","EXPIRES_IN":300})", "t", 300},
          {"NullsAreNothing", R"({"token":"t","access_token":null,"token":null,"expires_in":null})", "t"},
          {"IssuedAtIsNoTime", R"({"token":"t","issued_at":"soon"})", ""},
          {"HugeLifetime", R"({"token":"t","expires_in":9223372036854775807})", "t", 86400},
          {"UnknownKeys", R"({"token":"t","scope":"x","a":{"b":[1]}})", "t"},
          {"Neither", R"({"scope":"x"})", ""}, {"Number", R"({"token":5})", ""},
          {"LineBreak", R"({"token":"a\r\nX: y"})", ""}, {"Blank", R"({"token":"a b"})", ""},
          {"NotAscii", R"({"token":"é"})", ""}, {"Nul", R"({"token":"a\u0000"})", ""},
          {"DuplicateKey", R"({"token":"a","token":"b"})", "b"}, {"List", R"(["token"])", ""},
          {"Nothing", "", ""}, {"Html", "<html>login</html>", ""},
          {"TokenTooLong", R"({"token":")" + std::string(65537, 'x') + "\"}", ""},
          {"LongestToken", R"({"token":")" + std::string(65536, 'x') + "\"}", std::string(65536, 'x')},
          {"BodyTooLong", R"({"token":"t","x":")" + std::string(1 << 20, 'x') + "\"}", ""},
          {"Deep", R"({"token":"t","x":)" + std::string(40, '[') + std::string(40, ']') + "}", "t"},
          {"TooDeep", R"({"token":"t","x":)" + std::string(1200, '[') + std::string(1200, ']') + "}", ""});

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
