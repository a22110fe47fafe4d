#include "kube/token_keys.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"

namespace prefetch::kube::token_claims_test {
namespace {

std::string Token(const std::string& claims) {
  std::string payload = base::Base64Encode(claims);
  std::replace(payload.begin(), payload.end(), '+', '-');
  std::replace(payload.begin(), payload.end(), '/', '_');
  payload.resize(payload.find_last_not_of('=') + 1);
  return "eyJhbGciOiJSUzI1NiJ9." + payload + ".c2ln";
}

TEST(TokenClaims, OfAPodsProjectedToken) {
  auto claims = ReadTokenClaims(Token(
      R"({"aud":["prefetchd"],"exp":1800000000,"iat":1,"iss":"https://kubernetes.default.svc",
          "kubernetes.io":{"namespace":"ci","node":{"name":"n1","uid":"n-uid"},
                           "pod":{"name":"job-1","uid":"p-uid"},
                           "serviceaccount":{"name":"runner","uid":"a-uid"}},
          "sub":"system:serviceaccount:ci:runner"})"));
  ASSERT_TRUE(claims);
  EXPECT_EQ(claims->audiences, std::vector<std::string>{"prefetchd"});
  EXPECT_EQ(claims->expires, base::WallTime(std::chrono::seconds(1'800'000'000)));
  EXPECT_EQ(claims->node, "n1");
  EXPECT_EQ(claims->pod_uid, "p-uid");
}

TEST(TokenClaims, MayBeFew) {
  auto one = ReadTokenClaims(Token(R"({"aud":"prefetchd"})"));
  ASSERT_TRUE(one);
  EXPECT_EQ(one->audiences, std::vector<std::string>{"prefetchd"});
  EXPECT_FALSE(one->expires);
  EXPECT_EQ(one->node, "");
  auto none = ReadTokenClaims(Token(R"({"aud":[1,null],"exp":"soon","kubernetes.io":[]})"));
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->audiences.empty());
  EXPECT_FALSE(none->expires);
  auto late = ReadTokenClaims(Token(R"({"exp":9223372036854775807})"));
  ASSERT_TRUE(late && late->expires);
  EXPECT_GT(*late->expires, base::WallTime(std::chrono::seconds(8'000'000'000)));
  EXPECT_FALSE(ReadTokenClaims(Token(R"({"exp":-1})"))->expires);
}

TEST(TokenClaims, AreOfTokensOnly) {
  for (const char* text : {"", ".", "..", "a.b", "a.b.c.d", "a.!!.c", "e30.e30."}) {
    EXPECT_FALSE(ReadTokenClaims(text)) << text;
  }
  EXPECT_FALSE(ReadTokenClaims(Token("[]")));
  EXPECT_FALSE(ReadTokenClaims(Token("{")));
  EXPECT_FALSE(ReadTokenClaims(Token(std::string(20'000, ' '))));
}

}  // namespace
}  // namespace prefetch::kube::token_claims_test
