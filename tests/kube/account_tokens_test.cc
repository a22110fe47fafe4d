#include "kube/account_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fakes/fake_api_server.h"
#include "fakes/fake_clock.h"
#include "http/curl_client.h"
#include "kube/http_api.h"

namespace prefetch::kube::account_tokens_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::string_view kRbac = R"yaml(
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: tokens, namespace: apps}
rules:
- {apiGroups: [""], resources: [serviceaccounts], resourceNames: [puller], verbs: [get]}
- {apiGroups: [""], resources: [serviceaccounts/token], resourceNames: [puller], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: tokens, namespace: apps}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: tokens}
subjects: [{kind: ServiceAccount, name: prefetchd, namespace: prefetchd}]
)yaml";

class AccountTokensTest : public testing::Test {
 protected:
  void SetUp() override {
    EXPECT_TRUE(server_.LoadRbac(kRbac).ok());
    cluster_.server = server_.url();
    cluster_.token =
        base::Secret(server_.AddServiceAccountToken("prefetchd", "prefetchd", std::chrono::hours(99)));
    identity_.emplace(cluster_, clock_);
    api_.emplace(client_, *identity_, clock_);
    Account("uid-1", "{\"example.com/role\":\"puller\"}");
  }
  void Account(const std::string& uid, const std::string& annotations) {
    server_.Put("serviceaccounts/apps/puller",
                "{\"metadata\":{\"uid\":\"" + uid + "\",\"annotations\":" + annotations + "}}");
  }
  std::string TokenOf(AccountTokens& tokens, const std::string& audience = "sts.test") {
    auto got = tokens.Get(base::Call{}.Within(seconds(20)), audience);
    return got ? std::string(got->token.Reveal()) : got.error().message();
  }
  // How many tokens the server was asked for.
  long Asked() const {
    auto requests = server_.Requests();
    return std::count_if(requests.begin(), requests.end(), [](const std::string& request) {
      return request.find("/token") != std::string::npos;
    });
  }
  long Requests() const { return static_cast<long>(server_.Requests().size()); }

  tests::FakeClock clock_;
  tests::FakeApiServer server_{clock_};
  http::CurlClient client_;
  Cluster cluster_;
  std::optional<Identity> identity_;
  std::optional<HttpApi> api_;
};

TEST_F(AccountTokensTest, ATokenIsKeptForEightTenthsOfItsLifeAndEachAudienceHasItsOwn) {
  AccountTokens tokens(*api_, clock_, "apps", "puller");
  const std::string first = TokenOf(tokens);
  EXPECT_TRUE(first.starts_with("eyJ")) << first;
  EXPECT_EQ(TokenOf(tokens), first);
  EXPECT_EQ(Requests(), 2);  // the account, the token
  EXPECT_NE(TokenOf(tokens, "other.test"), first);
  EXPECT_EQ(Asked(), 2);
  clock_.Advance(minutes(47));
  EXPECT_EQ(TokenOf(tokens), first);
  clock_.Advance(minutes(2));
  EXPECT_NE(TokenOf(tokens), first);
  EXPECT_EQ(Asked(), 3);
}

TEST_F(AccountTokensTest, AnnotationsAreSeenWithinAMinuteAndANewAccountIsAnotherOne) {
  AccountTokens tokens(*api_, clock_, "apps", "puller");
  const std::string first = TokenOf(tokens);
  Account("uid-1", "{\"example.com/role\":\"writer\"}");
  clock_.Advance(seconds(61));
  auto got = tokens.Get(base::Call{}.Within(seconds(20)), "sts.test");
  ASSERT_TRUE(got.ok()) << got.error().message();
  EXPECT_EQ(got->annotations.at("example.com/role"), "writer");
  EXPECT_EQ(got->token.Reveal(), first);
  Account("uid-2", "{}");
  clock_.Advance(seconds(61));
  EXPECT_NE(TokenOf(tokens), first);
}

TEST_F(AccountTokensTest, WhileTheServerIsAwayATokenThatHoldsIsGivenOut) {
  AccountTokens tokens(*api_, clock_, "apps", "puller");
  const std::string first = TokenOf(tokens);
  server_.GoAway();
  clock_.Advance(minutes(59));
  EXPECT_EQ(TokenOf(tokens), first);
  clock_.Advance(minutes(2));
  EXPECT_NE(TokenOf(tokens).find("serviceaccounts"), std::string::npos) << TokenOf(tokens);
  server_.ComeBack();
  clock_.Advance(seconds(11));
  EXPECT_TRUE(TokenOf(tokens).starts_with("eyJ"));
}

TEST_F(AccountTokensTest, AMissingRightIsNamedAndAskedForOnceInTenSeconds) {
  AccountTokens tokens(*api_, clock_, "apps", "other");
  server_.Put("serviceaccounts/apps/other", "{}");
  EXPECT_NE(TokenOf(tokens).find("get serviceaccounts \"other\""), std::string::npos) << TokenOf(tokens);
  EXPECT_EQ(Requests(), 1);
  TokenOf(tokens);
  EXPECT_EQ(Requests(), 1);
  clock_.Advance(seconds(11));
  TokenOf(tokens);
  EXPECT_EQ(Requests(), 2);
}

TEST_F(AccountTokensTest, AnAccountThatIsGoneTakesItsTokenAlong) {
  AccountTokens tokens(*api_, clock_, "apps", "puller");
  TokenOf(tokens);
  server_.Delete("serviceaccounts/apps/puller");
  clock_.Advance(seconds(61));
  EXPECT_NE(TokenOf(tokens).find("not found"), std::string::npos) << TokenOf(tokens);
}

}  // namespace
}  // namespace prefetch::kube::account_tokens_test
