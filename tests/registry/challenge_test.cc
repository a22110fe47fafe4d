#include "registry/challenge.h"

#include <gtest/gtest.h>

namespace prefetch::registry::challenge_test {
namespace {

using Parameters = std::vector<std::pair<std::string, std::string>>;

struct ChallengeCase {
  std::string name;
  std::string field;
  Challenge expect;
};

class ChallengeTest : public testing::TestWithParam<ChallengeCase> {};

TEST_P(ChallengeTest, Table) {
  EXPECT_EQ(ParseChallenge(GetParam().field), GetParam().expect);
}

// R14, then what else is on the web: each as containerd reads it.
INSTANTIATE_TEST_SUITE_P(
    Challenges, ChallengeTest,
    testing::Values(
        ChallengeCase{
            "DockerHub",
            R"(Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:library/x:pull")",
            {"bearer", Parameters{{"realm", "https://auth.docker.io/token"},
                                  {"service", "registry.docker.io"},
                                  {"scope", "repository:library/x:pull"}}}},
        ChallengeCase{
            "TwoScopes",
            R"(Bearer realm="https://a/t",service="s",scope="repository:x:pull,push repository:y:pull")",
            {"bearer", Parameters{{"realm", "https://a/t"},
                                  {"service", "s"},
                                  {"scope", "repository:x:pull,push repository:y:pull"}}}},
        ChallengeCase{"BlanksAroundCommas",
                      R"(bearer REALM="https://a/t" , service=s)",
                      {"bearer", Parameters{{"realm", "https://a/t"}, {"service", "s"}}}},
        ChallengeCase{"BlanksAroundEquals",
                      R"(bearer REALM="https://a/t", service = "s")",
                      {"bearer", Parameters{{"realm", "https://a/t"}}}},
        ChallengeCase{"UrlWithoutQuotes",
                      R"(Bearer realm=https://a/t,service="s")",
                      {"bearer", Parameters{{"realm", "https"}}}},
        ChallengeCase{"RealmWithQuery",
                      R"(Bearer realm="https://a/t?x=1&y=2")",
                      {"bearer", Parameters{{"realm", "https://a/t?x=1&y=2"}}}},
        ChallengeCase{"EscapedQuote",
                      R"(Bearer realm="https://a/t",scope="a\"b")",
                      {"bearer", Parameters{{"realm", "https://a/t"}, {"scope", "a\"b"}}}},
        ChallengeCase{"TwoInOneLine",
                      R"(Basic realm="x", Bearer realm="https://a/t")",
                      {"basic", Parameters{{"realm", "x"}}}},
        ChallengeCase{"Error",
                      R"(Bearer error="insufficient_scope",realm="https://a/t")",
                      {"bearer", Parameters{{"error", "insufficient_scope"}, {"realm", "https://a/t"}}}},
        ChallengeCase{"BearerAlone", "Bearer", {"bearer", {}}}, ChallengeCase{"Nothing", "", {"", {}}},
        ChallengeCase{"OnlyCommas", " , ,", {"", {}}},
        ChallengeCase{"Token68", "Negotiate YIIab==", {"negotiate", Parameters{{"yiiab", ""}}}},
        ChallengeCase{"CommaInQuotes",
                      R"(Digest realm="a, b=c", qop="auth,auth-int")",
                      {"digest", Parameters{{"realm", "a, b=c"}, {"qop", "auth,auth-int"}}}},
        ChallengeCase{"EmptyValue", "Basic realm=", {"basic", Parameters{{"realm", ""}}}},
        ChallengeCase{"EmptyQuotes", R"(Basic realm="")", {"basic", Parameters{{"realm", ""}}}},
        ChallengeCase{"OpenQuote",
                      R"(Bearer service=s,realm="https://a)",
                      {"bearer", Parameters{{"service", "s"}, {"realm", ""}}}},
        ChallengeCase{"OpenEscape", R"(Bearer realm="a\)", {"bearer", Parameters{{"realm", ""}}}},
        ChallengeCase{"Garbage", "\x01\x02 ((( ", {"", {}}}),
    [](const auto& row) { return row.param.name; });

TEST(Challenge, TheLastOfANameCounts) {
  EXPECT_EQ(ParseChallenge(R"(Bearer realm="a",Realm="b")").Get("realm"), "b");
  EXPECT_EQ(ParseChallenge("Bearer").Get("realm"), "");
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
  EXPECT_EQ(scheme({"Bearer realm=\"https://a"}), "error");
  EXPECT_EQ(scheme({"Basic realm=\"" + std::string(9000, 'a') + "\""}), "error");
  EXPECT_EQ(scheme({"Basic realm=\"x"}), "basic ");
}

}  // namespace
}  // namespace prefetch::registry::challenge_test
