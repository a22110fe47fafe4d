#include "kube/account_tokens.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <memory>
#include <thread>

#include "fakes/fake_api_server.h"
#include "fakes/fake_clock.h"
#include "http/curl_client.h"
#include "kube/cluster.h"
#include "kube/http_api.h"
#include "kube/identity.h"
#include "must.h"
#include "rows.h"
#include "temp_dir.h"

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
    api_ = MakeHttpApi(client_, *identity_, clock_);
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
  std::unique_ptr<Api> api_;
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
  auto got = tests::Must(tokens.Get(base::Call{}.Within(seconds(20)), "sts.test"));
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

base::Call Patient() {
  return base::Call{}.Within(seconds(20));
}

std::string TokenOf(Identity& identity) {
  auto auth = identity.Current(Patient());
  return auth ? std::string(auth->authorization.Reveal()) : auth.error().message();
}

class IdentityTest : public testing::Test {
 protected:
  // As kubelet does it: a new file takes the old one's place.
  void Rotate(const std::string& name, const std::string& content) {
    dir_.Write(name + ".new", content);
    std::filesystem::rename(dir_ / (name + ".new"), dir_ / name);
  }
  Cluster FromFiles() {
    return {.server = "https://a",
            .source = "the test",
            .ca_file = dir_ / "ca.crt",
            .token_file = dir_ / "token"};
  }
  // A plugin that gives "token-N" for its Nth run, valid until `expires`.
  Cluster FromPlugin(const std::string& expires) {
    dir_.WriteProgram("plugin",
                      "#!/bin/sh\necho x >> " + (dir_ / "runs") + "\n" +
                          "printf '{\"apiVersion\":\"v\",\"kind\":\"ExecCredential\",\"status\":{'\n" +
                          (expires.empty() ? "" : "printf '\"expirationTimestamp\":\"" + expires + "\",'\n") +
                          "n=0; while read line; do n=$((n+1)); done < " + (dir_ / "runs") + "\n" +
                          "printf '\"token\":\"token-%s\"}}' $n\n");
    return {.server = "https://a", .exec = ExecPlugin{.api_version = "v", .command = dir_ / "plugin"}};
  }

  tests::TempDir dir_;
  tests::FakeClock clock_;
};

TEST_F(IdentityTest, AStaticTokenIsWhatItIs) {
  Identity identity(
      {.server = "https://a", .tls_server_name = "n", .verify = false, .token = base::Secret("t")}, clock_);
  auto auth = tests::Must(identity.Current(Patient()));
  EXPECT_EQ(auth->authorization.Reveal(), "Bearer t");
  EXPECT_EQ(auth->tls->server_name, "n");
  EXPECT_FALSE(auth->tls->verify);
  EXPECT_FALSE(identity.Replacement(Patient(), *auth));
}

TEST_F(IdentityTest, APasswordIsSentUnlessThereIsAToken) {
  Identity password({.server = "https://a", .username = "me", .password = base::Secret("p:w")}, clock_);
  EXPECT_EQ(TokenOf(password), "Basic bWU6cDp3");
  Identity nobody({.server = "https://a", .password = base::Secret("p")}, clock_);
  EXPECT_EQ(TokenOf(nobody), "");
  Identity both({.server = "https://a", .token = base::Secret("t"), .username = "me"}, clock_);
  EXPECT_EQ(TokenOf(both), "Bearer t");
}

TEST_F(IdentityTest, WithoutACredentialNothingIsSent) {
  Identity identity({.server = "https://a"}, clock_);
  EXPECT_EQ(TokenOf(identity), "");
}

TEST_F(IdentityTest, FilesAreReadAgainWhenTheyChange) {
  dir_.Write("token", "one\n");
  dir_.Write("ca.crt", "CA 1");
  Identity identity(FromFiles(), clock_);
  auto first = tests::Must(identity.Current(Patient()));
  EXPECT_EQ(first->authorization.Reveal(), "Bearer one");
  EXPECT_EQ(first->tls->ca_pem, "CA 1");
  EXPECT_EQ(identity.Current(Patient())->generation, first->generation);

  Rotate("token", "two\n");
  EXPECT_EQ(TokenOf(identity), "Bearer two");
  Rotate("ca.crt", "CA 2");
  auto third = identity.Current(Patient());
  EXPECT_EQ(third->tls->ca_pem, "CA 2");
  EXPECT_EQ(third->generation, first->generation + 2);
  EXPECT_EQ(first->tls->ca_pem, "CA 1");  // whoever is in the midst of a request keeps what it has
}

TEST_F(IdentityTest, AMinuteLaterTheyAreReadAnyway) {
  dir_.Write("token", "one");
  dir_.Write("ca.crt", "CA");
  Identity identity(FromFiles(), clock_);
  EXPECT_EQ(TokenOf(identity), "Bearer one");
  // The size is the same, and the file system's clock may not have ticked, so stat may see no difference.
  std::ofstream(dir_ / "token") << "two";
  clock_.Advance(seconds(60));
  EXPECT_EQ(TokenOf(identity), "Bearer two");
}

TEST_F(IdentityTest, WhatWasReadLastGoesOnWhileAFileIsGone) {
  dir_.Write("token", "one");
  dir_.Write("ca.crt", "CA");
  Identity identity(FromFiles(), clock_);
  EXPECT_EQ(TokenOf(identity), "Bearer one");
  std::filesystem::remove(dir_ / "token");
  EXPECT_EQ(TokenOf(identity), "Bearer one");
  dir_.Write("token", "\n");  // half written
  EXPECT_EQ(TokenOf(identity), "Bearer one");
  dir_.Write("token", "three");
  EXPECT_EQ(TokenOf(identity), "Bearer three");
}

TEST_F(IdentityTest, AtTheStartTheFilesMustBeThere) {
  dir_.Write("ca.crt", "CA");
  Identity identity(FromFiles(), clock_);
  const auto error = tests::MustFail(identity.Current(Patient()));
  EXPECT_EQ(error.code(), base::Code::kNotFound);
  EXPECT_TRUE(error.message().starts_with("credential of the test: ")) << error.message();
  dir_.Write("token", "late");
  EXPECT_EQ(TokenOf(identity), "Bearer late");
}

TEST_F(IdentityTest, TheTokenBesideAFileServesUntilTheFileIsThere) {
  dir_.Write("ca.crt", "CA");
  Cluster cluster = FromFiles();
  cluster.token = base::Secret("beside");
  Identity identity(std::move(cluster), clock_);
  EXPECT_EQ(TokenOf(identity), "Bearer beside");
  dir_.Write("token", "file");
  EXPECT_EQ(TokenOf(identity), "Bearer file");
}

TEST_F(IdentityTest, ARefusedTokenIsReplacedIfThereIsAnother) {
  dir_.Write("token", "one");
  dir_.Write("ca.crt", "CA");
  Identity identity(FromFiles(), clock_);
  auto first = tests::Must(identity.Current(Patient()));
  EXPECT_FALSE(identity.Replacement(Patient(), *first));
  Rotate("token", "two");
  auto second = tests::Must(identity.Replacement(Patient(), *first));
  EXPECT_EQ(second->authorization.Reveal(), "Bearer two");
  // A second thread that was refused with the first one gets what is there by now.
  EXPECT_EQ(identity.Replacement(Patient(), *first)->generation, second->generation);
}

TEST_F(IdentityTest, APluginsCredentialLastsUntilItExpires) {
  Identity identity(FromPlugin("2026-08-01T10:05:00Z"), clock_);  // the clock begins at 10:00
  EXPECT_EQ(TokenOf(identity), "Bearer token-1");
  clock_.Advance(seconds(299));
  EXPECT_EQ(TokenOf(identity), "Bearer token-1");
  clock_.Advance(seconds(1));
  EXPECT_EQ(TokenOf(identity), "Bearer token-2");
}

TEST_F(IdentityTest, APluginsCredentialWithoutAnEndLastsUntilItIsRefused) {
  Identity identity(FromPlugin(""), clock_);
  auto first = tests::Must(identity.Current(Patient()));
  clock_.Advance(std::chrono::hours(1000));
  EXPECT_EQ(TokenOf(identity), "Bearer token-1");
  EXPECT_EQ(identity.Replacement(Patient(), *first)->authorization.Reveal(), "Bearer token-2");
}

TEST_F(IdentityTest, ManyThreadsRunAPluginOnce) {
  Identity identity(FromPlugin(""), clock_);
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; t++) {
      threads.emplace_back([&] { good += TokenOf(identity) == "Bearer token-1"; });
    }
  }
  EXPECT_EQ(good, 8);
}

TEST_F(IdentityTest, WhoWaitsForAPluginCanBeStopped) {
  dir_.WriteProgram("plugin",
                    "#!/bin/sh\ntouch " + (dir_ / "began") + "\nread never < " + (dir_ / "fifo") + "\n");
  ASSERT_EQ(::mkfifo((dir_ / "fifo").c_str(), 0600), 0);
  Identity identity(
      {.server = "https://a", .exec = ExecPlugin{.api_version = "v", .command = dir_ / "plugin"}}, clock_);
  std::stop_source stop;
  std::jthread runs([&] {
    EXPECT_EQ(identity.Current({.stop = stop.get_token()}).error().code(), base::Code::kCancelled);
  });
  while (!std::filesystem::exists(dir_ / "began")) std::this_thread::yield();
  const auto error = tests::MustFail(identity.Current(base::Call{}.Within(std::chrono::milliseconds(50))));
  EXPECT_EQ(error.code(), base::Code::kDeadlineExceeded);
  std::jthread waits([&] {
    EXPECT_EQ(identity.Current({.stop = stop.get_token()}).error().code(), base::Code::kCancelled);
  });
  stop.request_stop();
}

struct InClusterCase {
  std::string name;
  std::map<std::string, std::string> environment;
  std::vector<std::string> files;
  std::string server;   // or
  std::string problem;  // what the error says
};
TEST_TABLE(InClusterTest, IsFoundOrExplained, InClusterCase) {
  tests::TempDir dir;
  for (const std::string& file : row.files) dir.Write(file, file + "\n");
  auto get_env = [&](const std::string& name) -> std::optional<std::string> {
    auto found = row.environment.find(name);
    return found == row.environment.end() ? std::nullopt : std::optional(found->second);
  };
  auto cluster = InCluster(get_env, dir.path());
  if (!cluster) {
    ASSERT_FALSE(row.problem.empty()) << cluster.error().message();
    EXPECT_NE(cluster.error().message().find(row.problem), std::string::npos) << cluster.error().message();
    return;
  }
  EXPECT_EQ(cluster->server, row.server);
  EXPECT_EQ(cluster->token_file, dir / "token");
  EXPECT_EQ(cluster->ca_file, dir / "ca.crt");
  EXPECT_EQ(cluster->name_space, row.files.size() == 3 ? "namespace" : "");
  EXPECT_TRUE(cluster->verify);
}

const std::vector<std::string> kAll = {"token", "ca.crt", "namespace"};
std::map<std::string, std::string> At(const std::string& host, const std::string& port) {
  return {{"KUBERNETES_SERVICE_HOST", host}, {"KUBERNETES_SERVICE_PORT", port}};
}
TEST_ROWS(InCluster, InClusterTest, {"V4", At("10.96.0.1", "443"), kAll, "https://10.96.0.1:443", ""},
          {"V6", At("fd00:10:96::1", "6443"), kAll, "https://[fd00:10:96::1]:6443", ""},
          {"Name", At("kubernetes.default.svc", "443"), kAll, "https://kubernetes.default.svc:443", ""},
          {"NoNamespace", At("10.96.0.1", "443"), {"token", "ca.crt"}, "https://10.96.0.1:443", ""},
          {"NoPod", {}, kAll, "", "this is no pod of a cluster"},
          {"HalfAPod", {{"KUBERNETES_SERVICE_HOST", "h"}}, kAll, "", "this is no pod"},
          {"EmptyHost", At("", "443"), kAll, "", "this is no pod"},
          {"Port", At("10.96.0.1", "443/x"), kAll, "", "KUBERNETES_SERVICE_PORT is no port"},
          {"LargePort", At("10.96.0.1", "65536"), kAll, "", "is no port"},
          {"Host", At("a@b", "443"), kAll, "", "KUBERNETES_SERVICE_HOST is no address"},
          {"NoToken", At("10.96.0.1", "443"), {"ca.crt"}, "", "/token: No such file"},
          {"NoAuthority", At("10.96.0.1", "443"), {"token"}, "", "/ca.crt: No such file"});

}  // namespace
}  // namespace prefetch::kube::account_tokens_test
