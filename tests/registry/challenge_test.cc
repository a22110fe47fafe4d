#include "registry/challenge.h"

#include <gtest/gtest.h>

namespace prefetch::registry::challenge_test {
namespace {

using Parameters = std::vector<std::pair<std::string, std::string>>;

struct ChallengeCase {
  std::string name;
  std::string field;
  std::vector<Challenge> expect;
};

class ChallengeTest : public testing::TestWithParam<ChallengeCase> {};

TEST_P(ChallengeTest, Table) {
  auto got = ParseChallenges(GetParam().field);
  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(*got, GetParam().expect);
}

// R14, then what else is on the web.
INSTANTIATE_TEST_SUITE_P(
    Challenges, ChallengeTest,
    testing::Values(
        ChallengeCase{
            "DockerHub",
            R"(Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:library/x:pull")",
            {{"bearer", Parameters{{"realm", "https://auth.docker.io/token"},
                                   {"service", "registry.docker.io"},
                                   {"scope", "repository:library/x:pull"}}}}},
        ChallengeCase{
            "TwoScopes",
            R"(Bearer realm="https://a/t",service="s",scope="repository:x:pull,push repository:y:pull")",
            {{"bearer", Parameters{{"realm", "https://a/t"},
                                   {"service", "s"},
                                   {"scope", "repository:x:pull,push repository:y:pull"}}}}},
        ChallengeCase{"BlanksAroundEquals",
                      R"(bearer REALM=https://a/t , service = "s")",
                      {{"bearer", Parameters{{"realm", "https://a/t"}, {"service", "s"}}}}},
        ChallengeCase{"RealmWithQuery",
                      R"(Bearer realm="https://a/t?x=1&y=2")",
                      {{"bearer", Parameters{{"realm", "https://a/t?x=1&y=2"}}}}},
        ChallengeCase{"EscapedQuote",
                      R"(Bearer realm="https://a/t",scope="a\"b")",
                      {{"bearer", Parameters{{"realm", "https://a/t"}, {"scope", "a\"b"}}}}},
        ChallengeCase{
            "TwoInOneLine",
            R"(Basic realm="x", Bearer realm="https://a/t")",
            {{"basic", Parameters{{"realm", "x"}}}, {"bearer", Parameters{{"realm", "https://a/t"}}}}},
        ChallengeCase{"Error",
                      R"(Bearer error="insufficient_scope",realm="https://a/t")",
                      {{"bearer", Parameters{{"error", "insufficient_scope"}, {"realm", "https://a/t"}}}}},
        ChallengeCase{"BearerAlone", "Bearer", {{"bearer", {}}}}, ChallengeCase{"Nothing", "", {}},
        ChallengeCase{"OnlyCommas", " , ,", {}},
        ChallengeCase{"Token68ThenBasic",
                      R"(Negotiate YIIab==, Basic realm="x")",
                      {{"negotiate", Parameters{{"yiiab", "="}}}, {"basic", Parameters{{"realm", "x"}}}}},
        ChallengeCase{
            "NoBlankAfterComma",
            R"(Basic realm="a",Bearer realm="https://b")",
            {{"basic", Parameters{{"realm", "a"}}}, {"bearer", Parameters{{"realm", "https://b"}}}}},
        ChallengeCase{"CommaInQuotes",
                      R"(Digest realm="a, b=c", qop="auth,auth-int")",
                      {{"digest", Parameters{{"realm", "a, b=c"}, {"qop", "auth,auth-int"}}}}},
        ChallengeCase{"EmptyValue", "Basic realm=", {{"basic", Parameters{{"realm", ""}}}}},
        ChallengeCase{"EmptyQuotes", R"(Basic realm="")", {{"basic", Parameters{{"realm", ""}}}}},
        ChallengeCase{"Garbage", "\x01\x02 ((( ", {}}),
    [](const auto& row) { return row.param.name; });

TEST(ParseChallenges, WhatIsTooMuchOrBroken) {
  EXPECT_FALSE(ParseChallenges(R"(Bearer realm="https://a)"));
  EXPECT_FALSE(ParseChallenges(R"(Bearer realm="a\)"));
  EXPECT_FALSE(ParseChallenges("Bearer realm=" + std::string(9000, 'a')));
  std::string many = "Bearer a0=1";
  for (int i = 1; i < 16; i++) many += ",a" + std::to_string(i) + "=1";
  EXPECT_TRUE(ParseChallenges(many));
  EXPECT_FALSE(ParseChallenges(many + ",a16=1"));
}

TEST(ChooseChallenge, BearerBeforeBasicWhateverTheOrder) {
  auto scheme = [](std::vector<std::string_view> fields) -> std::string {
    auto chosen = ChooseChallenge(fields);
    if (!chosen) return "error";
    return *chosen ? (*chosen)->scheme + " " + std::string((*chosen)->Get("realm")) : "none";
  };
  EXPECT_EQ(scheme({R"(Basic realm="x")", R"(Bearer realm="https://a/t")"}), "bearer https://a/t");
  EXPECT_EQ(scheme({R"(Bearer realm="https://a/t")", R"(Bearer realm="https://b/t")", R"(Basic realm="x")"}),
            "bearer https://a/t");
  EXPECT_EQ(scheme({R"(Negotiate)", R"(Basic realm="x")", R"(Basic realm="y")"}), "basic x");
  EXPECT_EQ(scheme({"Negotiate", "Digest realm=x"}), "none");
  EXPECT_EQ(scheme({}), "none");
  EXPECT_EQ(scheme({"Bearer"}), "error");
  EXPECT_EQ(scheme({"Basic realm=\"x\"", "Bearer service=\"s\""}), "error");
  EXPECT_EQ(scheme({"Basic realm=\"x"}), "error");
}

}  // namespace
}  // namespace prefetch::registry::challenge_test
