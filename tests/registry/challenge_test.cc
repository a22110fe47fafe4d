#include "registry/challenge.h"

#include <gtest/gtest.h>

#include "rows.h"

namespace prefetch::registry::challenge_test {
namespace {

using Parameters = std::vector<std::pair<std::string, std::string>>;

struct ChallengeCase {
  std::string name;
  std::string field;
  Challenge expect;
};

TEST_TABLE(ChallengeTest, Table, ChallengeCase) {
  EXPECT_EQ(ParseChallenge(row.field), row.expect);
}

// R14, then what else is on the web: each as containerd reads it.
TEST_ROWS(
    Challenges, ChallengeTest,
    {"DockerHub",
     R"(Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:library/x:pull")",
     Challenge{"bearer", Parameters{{"realm", "https://auth.docker.io/token"},
                                    {"service", "registry.docker.io"},
                                    {"scope", "repository:library/x:pull"}}}},
    {"TwoScopes",
     R"(Bearer realm="https://a/t",service="s",scope="repository:x:pull,push repository:y:pull")",
     Challenge{"bearer", Parameters{{"realm", "https://a/t"},
                                    {"service", "s"},
                                    {"scope", "repository:x:pull,push repository:y:pull"}}}},
    {"BlanksAroundCommas", R"(bearer REALM="https://a/t" , service=s)",
     Challenge{"bearer", Parameters{{"realm", "https://a/t"}, {"service", "s"}}}},
    {"BlanksAroundEquals", R"(bearer REALM="https://a/t", service = "s")",
     Challenge{"bearer", Parameters{{"realm", "https://a/t"}}}},
    {"UrlWithoutQuotes", R"(Bearer realm=https://a/t,service="s")",
     Challenge{"bearer", Parameters{{"realm", "https"}}}},
    {"RealmWithQuery", R"(Bearer realm="https://a/t?x=1&y=2")",
     Challenge{"bearer", Parameters{{"realm", "https://a/t?x=1&y=2"}}}},
    {"EscapedQuote", R"(Bearer realm="https://a/t",scope="a\"b")",
     Challenge{"bearer", Parameters{{"realm", "https://a/t"}, {"scope", "a\"b"}}}},
    {"TwoInOneLine", R"(Basic realm="x", Bearer realm="https://a/t")",
     Challenge{"basic", Parameters{{"realm", "x"}}}},
    {"Error", R"(Bearer error="insufficient_scope",realm="https://a/t")",
     Challenge{"bearer", Parameters{{"error", "insufficient_scope"}, {"realm", "https://a/t"}}}},
    {"BearerAlone", "Bearer", {"bearer", {}}}, {"Nothing", "", {"", {}}}, {"OnlyCommas", " , ,", {"", {}}},
    {"Token68", "Negotiate YIIab==", {"negotiate", Parameters{{"yiiab", ""}}}},
    {"CommaInQuotes", R"(Digest realm="a, b=c", qop="auth,auth-int")",
     Challenge{"digest", Parameters{{"realm", "a, b=c"}, {"qop", "auth,auth-int"}}}},
    {"EmptyValue", "Basic realm=", {"basic", Parameters{{"realm", ""}}}},
    {"EmptyQuotes", R"(Basic realm="")", {"basic", Parameters{{"realm", ""}}}},
    {"OpenQuote", R"(Bearer service=s,realm="https://a)",
     Challenge{"bearer", Parameters{{"service", "s"}, {"realm", ""}}}},
    {"OpenEscape", R"(Bearer realm="a\)", {"bearer", Parameters{{"realm", ""}}}},
    {"Garbage", "\x01\x02 ((( ", {"", {}}});

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

struct RealmCase {
  std::string name, registry, realm;
  std::string expect;  // "trusted", "stranger" or "refused"
};

TEST_TABLE(RealmTest, Table, RealmCase) {
  auto contact = http::ParseAbsoluteUrl(row.registry);
  ASSERT_TRUE(contact);
  auto realm = ValidateRealm(row.realm, *contact, {"sso.partner.example"});
  EXPECT_EQ(!realm ? "refused" : realm->trusted ? "trusted" : "stranger", row.expect);
}

// R21, with the realms that registries really name.
TEST_ROWS(Realms, RealmTest,
          {"DockerHub", "https://registry-1.docker.io/v2", "https://auth.docker.io/token", "trusted"},
          {"Gar", "https://europe-docker.pkg.dev/v2", "https://europe-docker.pkg.dev/v2/token", "trusted"},
          {"Acr", "https://acme.azurecr.io/v2", "https://acme.azurecr.io/oauth2/token", "trusted"},
          {"Quay", "https://quay.io/v2", "https://quay.io/v2/auth", "trusted"},
          {"Ghcr", "https://ghcr.io/v2", "https://ghcr.io/token", "trusted"},
          {"GitLab", "https://registry.gitlab.com/v2", "https://gitlab.com/jwt/auth", "trusted"},
          {"GitLabOwn", "https://registry.gitlab.acme.example/v2", "https://gitlab.acme.example/jwt/auth",
           "trusted"},
          {"GitLabShortName", "https://registry.gitlab/v2", "https://gitlab/jwt/auth", "trusted"},
          {"OtherPort", "https://reg.example:5000/v2", "https://reg.example:5001/token", "trusted"},
          {"NamedByTheOperator", "https://reg.example/v2", "https://sso.partner.example/t", "trusted"},
          {"Neighbour", "https://reg.example.com/v2", "https://evil.example/token", "stranger"},
          {"SuffixIsNoDomain", "https://reg.example.com/v2", "https://evilexample.com/t", "stranger"},
          {"CountrySecondLevel", "https://reg.acme.co.uk/v2", "https://evil.co.uk/token", "stranger"},
          {"BelowCountrySecondLevel", "https://reg.acme.co.uk/v2", "https://auth.acme.co.uk/t", "trusted"},
          {"TwoAddresses", "https://10.0.0.1/v2", "https://10.0.0.2/token", "stranger"},
          {"SameAddress", "https://10.0.0.1:5000/v2", "https://10.0.0.1/token", "trusted"},
          {"Metadata", "https://reg.example/v2", "https://169.254.169.254/token", "stranger"},
          {"ShortNames", "https://reg/v2", "https://auth/token", "stranger"},
          {"PlainHttp", "https://reg.example/v2", "http://reg.example/token", "refused"},
          {"PlainHttpOfAPlainRegistry", "http://reg.example:5000/v2", "http://reg.example:5001/token",
           "trusted"},
          {"PlainHttpElsewhere", "http://reg.example/v2", "http://auth.reg.example/token", "refused"},
          {"Userinfo", "https://reg.example/v2", "https://u:p@reg.example/token", "refused"},
          {"Relative", "https://reg.example/v2", "/token", "refused"},
          {"OtherScheme", "https://reg.example/v2", "file:///etc/passwd", "refused"},
          {"BrokenEscape", "https://reg.example/v2", "https://reg.example/%zz", "refused"},
          {"Backslash", "https://reg.example/v2", "https://reg.example\\token", "refused"},
          {"Words", "https://reg.example/v2", "Registry Realm", "refused"},
          {"TooLong", "https://reg.example/v2", "https://reg.example/" + std::string(2048, 'x'), "refused"});

}  // namespace
}  // namespace prefetch::registry::challenge_test
