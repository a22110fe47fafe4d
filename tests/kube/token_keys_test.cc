#include "kube/token_keys.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "golden.h"
#include "must.h"
#include "spellings.h"
#include "text_of.h"

namespace prefetch::kube::token_keys_test {
namespace {

// Keys and tokens that Python's cryptography made.
std::string File(const std::string& name) {
  return std::string(base::TrimSpace(tests::TextOf(tests::Testdata() + "/kube/tokens/" + name)));
}

std::string Encoded(std::string_view text) {
  return tests::UrlSafe(base::Base64Encode(text));
}

// The token with one part replaced.
std::string With(const std::string& token, std::size_t part, const std::string& text) {
  std::vector<std::string> parts;
  for (std::string_view each : base::Split(token, '.')) parts.emplace_back(each);
  parts[part] = text;
  return base::Join(parts, ".");
}

std::string Flipped(std::string token) {
  char& c = token[token.rfind('.') + 20];
  c = c == 'A' ? 'B' : 'A';
  return token;
}

TEST(TokenKeys, Judge) {
  const auto keys = TokenKeys::Parse(File("jwks.json"));
  const auto newer = TokenKeys::Parse(File("jwks_new.json"));
  ASSERT_TRUE(keys && newer);
  const std::string rsa = File("rsa.jwt");
  for (const char* name : {"rsa", "p256", "p384", "p521"}) {
    const std::string token = File(std::string(name) + ".jwt");
    EXPECT_EQ(keys->Verify(token), Signature::kGenuine) << name;
    EXPECT_EQ(keys->Verify(Flipped(token)), Signature::kForged) << name;
    EXPECT_EQ(keys->Verify(With(token, 1, Encoded(R"({"aud":["prefetchd"]})"))), Signature::kForged) << name;
    EXPECT_EQ(keys->Verify(With(token, 2, Encoded(std::string(256, '\0')))), Signature::kForged) << name;
    EXPECT_EQ(keys->Verify(With(token, 2, "")), Signature::kForged) << name;
    for (const char* other : {"none", "HS256", "RS512", "ES256K", ""}) {
      const std::string kid = std::string(name) == "rsa" ? "rsa-1" : name;
      const std::string head = R"({"alg":")" + std::string(other) + R"(","kid":")" + kid + "\"}";
      EXPECT_EQ(keys->Verify(With(token, 0, Encoded(head))), Signature::kForged) << name << " " << other;
    }
  }
  EXPECT_EQ(keys->Verify(File("rsa_other.jwt")), Signature::kForged) << "another key by the same name";
  EXPECT_EQ(keys->Verify(File("rsa_new.jwt")), Signature::kUnknownKey);
  EXPECT_EQ(newer->Verify(File("rsa_new.jwt")), Signature::kGenuine);
  EXPECT_EQ(keys->Verify(With(rsa, 0, Encoded(R"({"alg":"RS256"})"))), Signature::kForged)
      << "fits every key";
  for (const char* garbage : {"", "a", "a.b", "a.b.c", "a.b.c.d", "e30.e30.e30", "...", "W10.e30.e30"}) {
    const Signature judged = keys->Verify(garbage);
    EXPECT_TRUE(judged == Signature::kForged) << garbage;
  }
}

TEST(TokenKeys, AKeyThatWeDoNotVerifyTellsNothing) {
  const auto keys = tests::Must(TokenKeys::Parse(
      R"({"keys":[{"kty":"OKP","crv":"Ed25519","kid":"ed","x":"AA"},{"kty":"RSA","kid":"half"}]})"));
  for (const char* kid : {"ed", "half"}) {
    const std::string head = R"({"alg":"EdDSA","kid":")" + std::string(kid) + "\"}";
    EXPECT_EQ(keys->Verify(Encoded(head) + ".e30.AAAA"), Signature::kUnverifiable) << kid;
  }
}

TEST(TokenKeys, OfHostileSets) {
  for (const char* none :
       {"", "[]", "{}", R"({"keys":{}})", R"({"keys":[]})", R"({"keys":[1,"a"]})", "<html>"}) {
    EXPECT_FALSE(TokenKeys::Parse(none)) << none;
  }
  std::string many = R"({"keys":[)";
  for (int i = 0; i < 100; i++) many += R"({"kty":"RSA"},)";
  many.back() = ']';
  EXPECT_FALSE(TokenKeys::Parse(many + "}"));
  // Numbers that are no key: even, zero, one, tiny, huge, and a point off the curve.
  const std::string token = File("rsa.jwt"), point = File("p256.jwt");
  for (const std::string& n : {std::string("AA"), std::string("AQ"), Encoded(std::string(256, '\0')),
                               Encoded(std::string(255, '\1') + '\2'), Encoded(std::string(5000, '\xff'))}) {
    for (const char* e : {"AQAB", "AA", "AQ", "Ag"}) {
      const auto keys = tests::Must(
          TokenKeys::Parse(R"({"keys":[{"kty":"RSA","kid":"rsa-1","n":")" + n + R"(","e":")" + e + "\"}]}"));
      EXPECT_EQ(keys->Verify(token), Signature::kForged) << n << " " << e;
    }
    const auto keys = tests::Must(TokenKeys::Parse(
        R"({"keys":[{"kty":"EC","crv":"P-256","kid":"p256","x":")" + n + R"(","y":")" + n + "\"}]}"));
    EXPECT_EQ(keys->Verify(point), Signature::kForged) << n;
  }
}

std::string Token(const std::string& claims) {
  return "eyJhbGciOiJSUzI1NiJ9." + Encoded(claims) + ".c2ln";
}

TEST(TokenClaims, OfAPodsProjectedToken) {
  auto claims = tests::Must(ReadTokenClaims(Token(
      R"({"aud":["prefetchd"],"exp":1800000000,"iat":1,"iss":"https://kubernetes.default.svc",
          "kubernetes.io":{"namespace":"ci","node":{"name":"n1","uid":"n-uid"},
                           "pod":{"name":"job-1","uid":"p-uid"},
                           "serviceaccount":{"name":"runner","uid":"a-uid"}},
          "sub":"system:serviceaccount:ci:runner"})")));
  EXPECT_EQ(claims->audiences, std::vector<std::string>{"prefetchd"});
  EXPECT_EQ(claims->expires, base::WallTime(std::chrono::seconds(1'800'000'000)));
  EXPECT_EQ(claims->node, "n1");
  EXPECT_EQ(claims->pod_uid, "p-uid");
}

TEST(TokenClaims, MayBeFew) {
  auto one = tests::Must(ReadTokenClaims(Token(R"({"aud":"prefetchd"})")));
  EXPECT_EQ(one->audiences, std::vector<std::string>{"prefetchd"});
  EXPECT_FALSE(one->expires);
  EXPECT_EQ(one->node, "");
  auto none = tests::Must(ReadTokenClaims(Token(R"({"aud":[1,null],"exp":"soon","kubernetes.io":[]})")));
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
}  // namespace prefetch::kube::token_keys_test
