#include "registry/challenge.h"

#include <gtest/gtest.h>

#include "rows.h"

namespace prefetch::registry::challenge_test {
namespace {

// The judge of the family "challenge" (tests/judges) has the rest.
TEST(ChooseChallenge, AHeaderThatIsTooLongIsAMistake) {
  EXPECT_FALSE(ChooseChallenge({"Basic realm=\"" + std::string(9000, 'a') + "\""}));
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
