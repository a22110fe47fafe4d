// Providers with tokenAttributes: A24 to A27.
#include "credentials/plugin.h"

#include <gtest/gtest.h>

#include "plugin_folder.h"

namespace prefetch::credentials::plugin_identity_test {
namespace {

const ServiceAccountName kAccount{"apps", "puller"};

TokenAttributes Attributes(TokenCacheType type = TokenCacheType::kServiceAccount) {
  return {.service_account_token_audience = "sts.test",
          .cache_type = type,
          .require_service_account = true,
          .required_annotation_keys = {"example.com/role"},
          .optional_annotation_keys = {"example.com/zone"}};
}

ServiceAccountGrant Grant(const std::string& token = "jwt") {
  return {.uid = "u1",
          .annotations = {{"example.com/role", "reader"}, {"example.com/other", "x"}},
          .token = base::Secret(token)};
}

std::string KeyOf(const TokenAttributes& attributes, const ServiceAccountName& account,
                  const ServiceAccountGrant& grant) {
  auto identity = IdentityFor(attributes, account, grant);
  return identity ? identity->cache_key : identity.error().message();
}

TEST(PluginIdentity, CarriesTheAnnotationsThatTheProviderNames) {
  auto identity = IdentityFor(Attributes(), kAccount, Grant());
  ASSERT_TRUE(identity.ok());
  EXPECT_EQ(identity->annotations, (std::map<std::string, std::string>{{"example.com/role", "reader"}}));
  EXPECT_EQ(identity->token.Reveal(), "jwt");
  ServiceAccountGrant with_zone = Grant();
  with_zone.annotations["example.com/zone"] = "a";
  EXPECT_EQ(IdentityFor(Attributes(), kAccount, with_zone)->annotations.size(), 2U);
}

TEST(PluginIdentity, NeedsTheRequiredAnnotations) {
  ServiceAccountGrant grant = Grant();
  grant.annotations.erase("example.com/role");
  auto identity = IdentityFor(Attributes(), kAccount, grant);
  ASSERT_FALSE(identity.ok());
  EXPECT_EQ(identity.error().message(),
            "service account apps/puller has no annotation example.com/role, which the provider requires");
}

TEST(PluginIdentity, TheCacheKeyTellsApartWhatTheAnswerDependsOn) {
  const std::string key = KeyOf(Attributes(), kAccount, Grant());
  EXPECT_EQ(KeyOf(Attributes(), kAccount, Grant("renewed")), key);
  EXPECT_NE(KeyOf(Attributes(TokenCacheType::kToken), kAccount, Grant()),
            KeyOf(Attributes(TokenCacheType::kToken), kAccount, Grant("renewed")));
  EXPECT_NE(KeyOf(Attributes(), {"apps", "other"}, Grant()), key);
  EXPECT_NE(KeyOf(Attributes(), {"other", "puller"}, Grant()), key);
  ServiceAccountGrant made_anew = Grant();
  made_anew.uid = "u2";
  EXPECT_NE(KeyOf(Attributes(), kAccount, made_anew), key);
  ServiceAccountGrant promoted = Grant();
  promoted.annotations["example.com/role"] = "writer";
  EXPECT_NE(KeyOf(Attributes(), kAccount, promoted), key);
  // The token itself is in no key.
  EXPECT_EQ(KeyOf(Attributes(TokenCacheType::kToken), kAccount, Grant("jwt-in-full")).find("jwt-in-full"),
            std::string::npos);
}

TEST(PluginIdentity, OnlyCacheTypeTokenMayGiveTheTokenBack) {
  PluginResponse response;
  response.auth.push_back({"r.io", {"oauth2", base::Secret("jwt")}});
  PluginIdentity identity{.token = base::Secret("jwt"), .annotations = {}, .cache_key = "k"};
  EXPECT_TRUE(EchoesToken(response, Attributes(), identity));
  EXPECT_FALSE(EchoesToken(response, Attributes(TokenCacheType::kToken), identity));
  EXPECT_FALSE(EchoesToken(response, Attributes(), {}));
  identity.token = base::Secret("another");
  EXPECT_FALSE(EchoesToken(response, Attributes(), identity));
}

// The whole way, with a real plugin.
class TokenProviderTest : public testing::Test {
 protected:
  // A plugin that answers with what it was told as user name, and with the token, or another word, as
  // password.
  void Plugin(const std::string& cache_type, bool requires_account, bool echoes) {
    folder_.AddPlugin(
        "sa",
        "request=$(cat)\n"
        "account=$(echo \"$request\" | sed -n 's/.*\"example.com\\/role\":\"\\([^\"]*\\)\".*/\\1/p')\n"
        "token=$(echo \"$request\" | sed -n 's/.*\"serviceAccountToken\":\"\\([^\"]*\\)\".*/\\1/p')\n" +
            std::string(echoes ? "" : "[ -z \"$token\" ] || token=exchanged\n") +
            "echo '{\"kind\":\"CredentialProviderResponse\","
            "\"apiVersion\":\"credentialprovider.kubelet.k8s.io/v1\",\"cacheKeyType\":\"Registry\","
            "\"cacheDuration\":\"1h\",\"auth\":{\"r.io\":{\"username\":\"'$account'\",\"password\":\"'$token'"
            "\"}}}'");
    folder_.WriteConfig(PluginFolder::Provider(
        "sa", "[r.io]", "1h",
        std::string("  tokenAttributes: {serviceAccountTokenAudience: sts.test, cacheType: ") + cache_type +
            ", requireServiceAccount: " + (requires_account ? "true" : "false") +
            (requires_account ? ", requiredServiceAccountAnnotationKeys: [example.com/role]" : "") + "}\n"));
  }
  void Account() {
    options_.service_account = kAccount;
    options_.grants = [this](const base::Call&, const std::string& audience) {
      audiences_ += audience + " ";
      return grant_;
    };
  }
  // "user:password" of the first credential, or what became of the provider.
  std::string Find() {
    if (!keyring_) keyring_ = std::make_unique<Keyring>(options_, clock_);
    Lookup lookup = keyring_->Find({}, *image::Reference::Parse("r.io/app:v1"));
    EXPECT_TRUE(lookup.providers.at(0).token_attributes);
    if (lookup.credentials.empty()) {
      return std::string(ProviderOutcomeName(lookup.providers[0].outcome)) + " " + lookup.providers[0].error;
    }
    exposes_ = lookup.credentials[0].exposes;
    const image::AuthConfig& auth = lookup.credentials[0].auth;
    return auth.username + ":" + std::string(auth.password.Reveal());
  }

  PluginFolder folder_;
  StepClock clock_;
  KeyringOptions options_ = folder_.Options();
  base::Result<ServiceAccountGrant> grant_ = Grant();
  std::string audiences_;
  bool exposes_ = false;
  std::unique_ptr<Keyring> keyring_;
};

TEST_F(TokenProviderTest, IsAskedForTheAccountThatWasNamed) {
  Plugin("ServiceAccount", true, false);
  Account();
  EXPECT_EQ(Find(), "reader:exchanged");
  EXPECT_TRUE(exposes_);
  EXPECT_EQ(Find(), "reader:exchanged");
  EXPECT_EQ(folder_.Runs("sa"), 1);
  EXPECT_EQ(audiences_, "sts.test sts.test ");  // as kubelet: the token comes before the cache
  grant_ = Grant("renewed");
  EXPECT_EQ(Find(), "reader:exchanged");
  EXPECT_EQ(folder_.Runs("sa"), 1);
}

TEST_F(TokenProviderTest, WithCacheTypeTokenANewTokenIsANewAnswer) {
  Plugin("Token", true, true);
  Account();
  EXPECT_EQ(Find(), "reader:jwt");
  grant_ = Grant("renewed");
  EXPECT_EQ(Find(), "reader:renewed");
  EXPECT_EQ(folder_.Runs("sa"), 2);
}

TEST_F(TokenProviderTest, AnEchoedTokenIsRefusedWithoutNamingIt) {
  Plugin("ServiceAccount", true, true);
  Account();
  const std::string outcome = Find();
  EXPECT_TRUE(outcome.starts_with("error the response gives the service account's token back")) << outcome;
  EXPECT_EQ(outcome.find("jwt"), std::string::npos);
}

TEST_F(TokenProviderTest, WithoutAnAccountItIsSkippedOrAskedWithoutOne) {
  Plugin("ServiceAccount", true, false);
  EXPECT_TRUE(
      Find().starts_with("skipped it wants a service account token (tokenAttributes); name an account"));
  EXPECT_EQ(folder_.Runs("sa"), 0);
  keyring_.reset();
  options_.service_account = kAccount;  // and nobody who asks the API server
  EXPECT_TRUE(Find().ends_with("and only the agent requests one"));
  keyring_.reset();
  Plugin("ServiceAccount", false, false);
  EXPECT_EQ(Find(), ":");
  EXPECT_FALSE(exposes_);
  EXPECT_EQ(folder_.Runs("sa"), 1);
}

TEST_F(TokenProviderTest, WhyThereIsNoTokenIsSaid) {
  Plugin("ServiceAccount", true, false);
  Account();
  grant_ = base::PermissionDenied("create serviceaccounts/token \"puller\": forbidden");
  EXPECT_EQ(
      Find(),
      "error no token of service account apps/puller: create serviceaccounts/token \"puller\": forbidden");
  ServiceAccountGrant bare = Grant();
  bare.annotations.clear();
  grant_ = bare;
  EXPECT_TRUE(Find().starts_with("skipped service account apps/puller has no annotation"));
  EXPECT_EQ(folder_.Runs("sa"), 0);
}

}  // namespace
}  // namespace prefetch::credentials::plugin_identity_test
