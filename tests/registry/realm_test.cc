#include "registry/challenge.h"

#include <gtest/gtest.h>

namespace prefetch::registry::realm_test {
namespace {

struct RealmCase {
  std::string name, registry, realm;
  std::string expect;  // "trusted", "stranger" or "refused"
};

class RealmTest : public testing::TestWithParam<RealmCase> {};

TEST_P(RealmTest, Table) {
  auto contact = http::ParseAbsoluteUrl(GetParam().registry);
  ASSERT_TRUE(contact);
  auto realm = ValidateRealm(GetParam().realm, *contact, {"sso.partner.example"});
  EXPECT_EQ(!realm ? "refused" : realm->trusted ? "trusted" : "stranger", GetParam().expect);
}

// R21, with the realms that registries really name.
INSTANTIATE_TEST_SUITE_P(
    Realms, RealmTest,
    testing::Values(
        RealmCase{"DockerHub", "https://registry-1.docker.io/v2", "https://auth.docker.io/token", "trusted"},
        RealmCase{"Gar", "https://europe-docker.pkg.dev/v2", "https://europe-docker.pkg.dev/v2/token",
                  "trusted"},
        RealmCase{"Acr", "https://acme.azurecr.io/v2", "https://acme.azurecr.io/oauth2/token", "trusted"},
        RealmCase{"Quay", "https://quay.io/v2", "https://quay.io/v2/auth", "trusted"},
        RealmCase{"Ghcr", "https://ghcr.io/v2", "https://ghcr.io/token", "trusted"},
        RealmCase{"GitLab", "https://registry.gitlab.com/v2", "https://gitlab.com/jwt/auth", "trusted"},
        RealmCase{"GitLabOwn", "https://registry.gitlab.acme.example/v2",
                  "https://gitlab.acme.example/jwt/auth", "trusted"},
        RealmCase{"GitLabShortName", "https://registry.gitlab/v2", "https://gitlab/jwt/auth", "trusted"},
        RealmCase{"OtherPort", "https://reg.example:5000/v2", "https://reg.example:5001/token", "trusted"},
        RealmCase{"NamedByTheOperator", "https://reg.example/v2", "https://sso.partner.example/t", "trusted"},
        RealmCase{"Neighbour", "https://reg.example.com/v2", "https://evil.example/token", "stranger"},
        RealmCase{"SuffixIsNoDomain", "https://reg.example.com/v2", "https://evilexample.com/t", "stranger"},
        RealmCase{"CountrySecondLevel", "https://reg.acme.co.uk/v2", "https://evil.co.uk/token", "stranger"},
        RealmCase{"BelowCountrySecondLevel", "https://reg.acme.co.uk/v2", "https://auth.acme.co.uk/t",
                  "trusted"},
        RealmCase{"TwoAddresses", "https://10.0.0.1/v2", "https://10.0.0.2/token", "stranger"},
        RealmCase{"SameAddress", "https://10.0.0.1:5000/v2", "https://10.0.0.1/token", "trusted"},
        RealmCase{"Metadata", "https://reg.example/v2", "https://169.254.169.254/token", "stranger"},
        RealmCase{"ShortNames", "https://reg/v2", "https://auth/token", "stranger"},
        RealmCase{"PlainHttp", "https://reg.example/v2", "http://reg.example/token", "refused"},
        RealmCase{"PlainHttpOfAPlainRegistry", "http://reg.example:5000/v2", "http://reg.example:5001/token",
                  "trusted"},
        RealmCase{"PlainHttpElsewhere", "http://reg.example/v2", "http://auth.reg.example/token", "refused"},
        RealmCase{"Userinfo", "https://reg.example/v2", "https://u:p@reg.example/token", "refused"},
        RealmCase{"Relative", "https://reg.example/v2", "/token", "refused"},
        RealmCase{"OtherScheme", "https://reg.example/v2", "file:///etc/passwd", "refused"},
        RealmCase{"BrokenEscape", "https://reg.example/v2", "https://reg.example/%zz", "refused"},
        RealmCase{"Backslash", "https://reg.example/v2", "https://reg.example\\token", "refused"},
        RealmCase{"Words", "https://reg.example/v2", "Registry Realm", "refused"},
        RealmCase{"TooLong", "https://reg.example/v2", "https://reg.example/" + std::string(2048, 'x'),
                  "refused"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::registry::realm_test
