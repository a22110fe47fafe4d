// A credential for the pod behind pods/proxy, beside the one for the API server.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "base/text.h"
#include "fakes/fake_api_server.h"
#include "fakes/fake_clock.h"
#include "fakes/rbac.h"
#include "http/curl_client.h"
#include "kube/http_api.h"
#include "must.h"
#include "serve.h"
#include "temp_dir.h"
#include "text_of.h"

namespace prefetch::kube::pod_credential_test {
namespace {

base::Call Patient() {
  return base::Call{}.Within(std::chrono::seconds(20));
}

const std::string kRbac =
    tests::ClusterRights("{kind: ServiceAccount, name: user, namespace: prefetchd}", R"([
 {apiGroups: [""], resources: [pods/proxy], verbs: [get]}])");

// A user whose credential comes from an exec plugin, as a kubeconfig of a cloud has it; and one pod.
class PodCredentialTest : public testing::Test {
 protected:
  PodCredentialTest()
      : server_(clock_), identity_(FromPlugin(), clock_), api_(MakeHttpApi(client_, identity_, clock_)) {
    base::Status loaded = server_.LoadRbac(kRbac);
    EXPECT_TRUE(loaded) << loaded.error().message();
    dir_.Write("token", server_.AddServiceAccountToken("prefetchd", "user"));
  }

  Cluster FromPlugin() {
    dir_.WriteProgram("plugin", "#!/bin/sh\necho x >> " + (dir_ / "runs") + "\n" +
                                    "printf '{\"apiVersion\":\"v\",\"kind\":\"ExecCredential\",\"status\":" +
                                    "{\"token\":\"%s\"}}' \"$(cat " + (dir_ / "token") + ")\"\n");
    return {.server = server_.url(), .exec = ExecPlugin{.api_version = "v", .command = dir_ / "plugin"}};
  }
  std::string Read(const char* name) const { return tests::TextOf(dir_ / name); }
  std::size_t PluginRuns() const { return base::Split(Read("runs"), '\n').size() - 1; }

  void PodAnswers(std::function<http::ServerResponse(const http::ServerRequest&)> answer) {
    pod_ = tests::Serve([this, answer = std::move(answer)](const http::ServerRequest& request) {
      asked_++;
      return answer(request);
    });
    server_.ForwardPod("prefetchd/agent-x:9477", pod_->port());
  }

  Answer<std::string> Ask(const std::string& credential = "Bearer a-fleet-token") {
    return api_->PodProxy(Patient(),
                          {"prefetchd", "agent-x", 9477, "/v1/status",
                           http::SecretHeader{"Prefetchd-Authorization", base::Secret(credential)}});
  }

  tests::TempDir dir_;
  tests::FakeClock clock_;
  tests::FakeApiServer server_;
  http::CurlClient client_;
  Identity identity_;
  std::unique_ptr<Api> api_;
  std::atomic<int> asked_ = 0;
  std::unique_ptr<http::Server> pod_;
};

TEST_F(PodCredentialTest, ReachesThePodAloneAndIsInNoMessage) {
  PodAnswers([](const http::ServerRequest& request) {
    EXPECT_FALSE(request.headers.Has("Authorization"));
    const std::string token(request.headers.Get("Prefetchd-Authorization").value_or(""));
    EXPECT_EQ(token, "Bearer a-fleet-token");
    return http::JsonResponse(403,
                              R"({"kind":"Status","apiVersion":"v1","message":"you sent )" + token + "\"}");
  });
  const auto error = tests::MustFail(Ask());
  EXPECT_EQ(error.kind, ApiError::kForbidden);
  EXPECT_NE(error.message.find("you sent Bearer [redacted]"), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find("a-fleet-token"), std::string::npos) << error.message;
  EXPECT_EQ(asked_, 1);
  auto broken = Ask("a\r\nb: c");
  ASSERT_FALSE(broken);
  EXPECT_EQ(asked_, 1) << "no line of its own making";
}

TEST_F(PodCredentialTest, RefusedByThePodLeavesTheServersCredentialAsItIs) {
  PodAnswers([](const http::ServerRequest&) { return http::ErrorResponse(401, "the token has expired"); });
  for (int i = 0; i < 5; i++) {
    const auto error = tests::MustFail(Ask());
    EXPECT_EQ(error.kind, ApiError::kUnauthorized);
  }
  EXPECT_EQ(asked_, 5);
  EXPECT_EQ(PluginRuns(), 1U);
}

TEST_F(PodCredentialTest, ARefusalOfTheServersOwnCredentialReadsThatAgain) {
  PodAnswers([](const http::ServerRequest&) { return http::JsonResponse(200, "{}"); });
  EXPECT_TRUE(Ask());
  server_.Revoke(Read("token"));
  dir_.Write("token", server_.AddServiceAccountToken("prefetchd", "user"));
  EXPECT_TRUE(Ask());
  EXPECT_EQ(asked_, 2);
  EXPECT_EQ(PluginRuns(), 2U);
}

}  // namespace
}  // namespace prefetch::kube::pod_credential_test
