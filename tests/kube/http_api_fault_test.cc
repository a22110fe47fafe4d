// Every call of HttpApi, and every way in which an API server fails it.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "doc/json.h"
#include "fakes/certificates.h"
#include "fakes/fake_api_server.h"
#include "fakes/fake_clock.h"
#include "fakes/rbac.h"
#include "http/curl_client.h"
#include "kube/http_api.h"
#include "temp_dir.h"

namespace prefetch::kube::http_api_fault_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using tests::Fault;

const std::string kRbac = tests::ClusterRights("{kind: User, name: agent}",
                                               R"([
 {apiGroups: [""], resources: [nodes, pods, events, serviceaccounts], verbs: [get, list, create, patch, delete]},
 {apiGroups: [""], resources: [nodes/status], verbs: [patch]},
 {apiGroups: [""], resources: [serviceaccounts/token], verbs: [create]},
 {apiGroups: [""], resources: [pods/proxy], verbs: [get, create]},
 {apiGroups: [authentication.k8s.io], resources: [tokenreviews], verbs: [create]}])");

using Outcome = std::optional<Failure>;

template <typename T>
Outcome Of(Answer<T> answer) {
  return answer ? std::nullopt : Outcome(std::move(answer).failure());
}

doc::Node APod(const std::string& name) {
  doc::Problems problems("pod");
  return doc::ParseJson("{\"metadata\":{\"name\":\"" + name + R"("},"spec":{"containers":[]}})", problems)
      .value_or(doc::Node());
}

// One call of Api. `attempt` is how its failures begin; `verbatim`: the answer is what somebody else sent.
struct ApiCall {
  std::string attempt;
  std::function<Outcome(HttpApi& api, const base::Call& call)> run;
  bool verbatim = false;
};

class EveryCall : public testing::Test {
 protected:
  EveryCall() : ca_(dir_.path(), "right"), other_ca_(dir_.path(), "wrong") {
    tests::KeyPair pair = ca_.Server("api");
    server_.emplace(clock_, tests::FrontOptions{pair.certificate_file, pair.key_file, ""});
    EXPECT_TRUE(server_->LoadRbac(kRbac));
    dir_.Write("token", server_->AddToken("agent"));
    server_->SetPodAnswer("a/p:1/x", "{}");
  }

  Cluster Trusting(const tests::CertificateAuthority& ca) const {
    return {.server = server_->url(), .ca_pem = ca.certificate(), .token_file = dir_ / "token"};
  }
  // What each call needs to go well, whatever the call before has left.
  void Prepare() {
    server_->Put("nodes/n1", "{}");
    server_->Put("events/default/e", "{}");
    server_->Put("serviceaccounts/a/sa", "{}");
    server_->Put("pods/a/p", R"({"metadata":{"uid":"u"}})");
    server_->Delete("pods/a/new");
  }
  std::string NodeVersion() const {
    auto node = server_->Get("nodes/n1");
    const doc::Node* metadata = node ? node->Find("metadata") : nullptr;
    return metadata == nullptr ? "" : metadata->Find("resourceVersion")->text;
  }

  std::vector<ApiCall> Calls() {
    NodeEvent event{.node = "n1", .reason = "R", .message = "m"};
    event.name = "e";
    return {
        {"get /version", [](auto& api, auto& call) { return Of(api.GetServerVersion(call)); }},
        {"get nodes \"n1\"", [](auto& api, auto& call) { return Of(api.GetNode(call, "n1")); }},
        {"list nodes", [](auto& api, auto& call) { return Of(api.ListNodes(call, {})); }},
        {"patch nodes \"n1\"",
         [](auto& api, auto& call) { return Of(api.SetNodeLabel(call, "n1", "k", "v")); }},
        {"patch nodes \"n1\"",
         [this](auto& api, auto& call) { return Of(api.SetNodeTaints(call, "n1", NodeVersion(), {})); }},
        {"patch nodes/status \"n1\"",
         [](auto& api, auto& call) {
           return Of(api.SetNodeCondition(call, "n1", {.type = "T", .status = "True"}));
         }},
        {"patch nodes/status \"n1\"",
         [](auto& api, auto& call) { return Of(api.RemoveNodeCondition(call, "n1", "T")); }},
        {"create events", [event](auto& api, auto& call) { return Of(api.CreateEvent(call, event)); }},
        {"patch events \"e\"", [event](auto& api, auto& call) { return Of(api.UpdateEvent(call, event)); }},
        {"list events", [](auto& api, auto& call) { return Of(api.ListPodEvents(call, "", "Pulled", {})); }},
        {"get serviceaccounts \"sa\"",
         [](auto& api, auto& call) { return Of(api.GetServiceAccount(call, "a", "sa")); }},
        {"create serviceaccounts/token \"sa\"",
         [](auto& api, auto& call) { return Of(api.CreateToken(call, "a", "sa", "sts.test", 3600)); }},
        {"create tokenreviews",
         [](auto& api, auto& call) { return Of(api.ReviewToken(call, base::Secret("a.b.c"), "prefetchd")); }},
        {"list pods", [](auto& api, auto& call) { return Of(api.ListPods(call, "a", {})); }},
        {"get pods \"p\"", [](auto& api, auto& call) { return Of(api.GetPod(call, "a", "p")); }},
        {"create pods",
         [](auto& api, auto& call) { return Of(api.CreatePod(call, "a", APod("new"), DryRun::kYes)); }},
        {"create pods",
         [](auto& api, auto& call) { return Of(api.CreatePod(call, "a", APod("new"), DryRun::kNegative)); }},
        {"delete pods \"p\"", [](auto& api, auto& call) { return Of(api.DeletePod(call, "a", "p", "u")); }},
        {"get pods/proxy \"p:1\"",
         [](auto& api, auto& call) { return Of(api.PodProxyGet(call, "a", "p", 1, "/x", {})); }, true},
        {"create pods/proxy \"p:1\"",
         [](auto& api, auto& call) { return Of(api.PodProxyPost(call, "a", "p", 1, "/x", "{}", {})); },
         true}};
  }

  tests::TempDir dir_;
  tests::CertificateAuthority ca_, other_ca_;
  tests::FakeClock clock_;
  std::optional<tests::FakeApiServer> server_;
  http::CurlClient client_;
};

struct FaultCase {
  std::string name;
  Fault fault;
  ApiError kind;
  int retry_after = -1;
};
class FaultTest : public EveryCall, public testing::WithParamInterface<FaultCase> {};

TEST_P(FaultTest, EndsInItsKindAndTheNextCallIsFine) {
  const Fault& fault = GetParam().fault;
  const bool of_the_body = fault.status == 200;
  Identity identity(Trusting(ca_), clock_);
  HttpApi api(client_, identity, clock_);
  for (const ApiCall& one : Calls()) {
    if (one.verbatim && of_the_body && fault.body.size() < (1U << 20)) continue;
    SCOPED_TRACE(one.attempt);
    Prepare();
    const std::size_t before = server_->Requests().size();
    server_->Fail(fault);
    Outcome failure = one.run(api, base::Call{}.Within(fault.hang ? milliseconds(200) : seconds(20)));
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->kind, GetParam().kind) << failure->message;
    EXPECT_EQ(failure->retry_after ? failure->retry_after->count() : -1, GetParam().retry_after);
    EXPECT_TRUE(failure->message.starts_with(one.attempt)) << failure->message;
    EXPECT_EQ(failure->message.find("fake-"), std::string::npos) << "a token shows";
    EXPECT_EQ(server_->Requests().size() - before, 1U) << "nothing was tried twice";
    Prepare();
    Outcome next = one.run(api, base::Call{}.Within(seconds(20)));
    EXPECT_FALSE(next) << next->message;
  }
}

INSTANTIATE_TEST_SUITE_P(
    HttpApi, FaultTest,
    testing::Values(
        FaultCase{"Unauthorized", {.status = 401}, ApiError::kUnauthorized},
        FaultCase{"Forbidden", {.status = 403}, ApiError::kForbidden},
        FaultCase{"NotFound", {.status = 404}, ApiError::kNotFound},
        FaultCase{"Conflict", {.status = 409}, ApiError::kConflict},
        FaultCase{"Gone", {.status = 410}, ApiError::kGone},
        FaultCase{"Unprocessable", {.status = 422}, ApiError::kInvalid},
        FaultCase{"TooMany", {.status = 429, .retry_after = "17"}, ApiError::kTooManyRequests, 17},
        FaultCase{"ServerError", {.status = 500}, ApiError::kServerError},
        FaultCase{"Overloaded", {.status = 503, .retry_after = "3"}, ApiError::kServerError, 3},
        FaultCase{"Redirect", {.status = 307}, ApiError::kMalformed},
        FaultCase{"Hangs", {.hang = true}, ApiError::kTimeout},
        FaultCase{"Cut", {.cut = true}, ApiError::kUnreachable},
        FaultCase{"NoJson", {.status = 200, .body = "<html>"}, ApiError::kMalformed},
        FaultCase{"NoObject", {.status = 200, .body = "[]"}, ApiError::kMalformed},
        FaultCase{"TooLong", {.status = 200, .body = std::string(9 << 20, ' ')}, ApiError::kMalformed}),
    [](const auto& row) { return row.param.name; });

TEST_F(EveryCall, WithAnotherAuthorityThanTheServersSendsNothing) {
  Identity identity(Trusting(other_ca_), clock_);
  HttpApi api(client_, identity, clock_);
  for (const ApiCall& one : Calls()) {
    SCOPED_TRACE(one.attempt);
    Prepare();
    Outcome failure = one.run(api, base::Call{}.Within(seconds(20)));
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->kind, ApiError::kTlsError) << failure->message;
  }
  EXPECT_TRUE(server_->Requests().empty()) << "no token went anywhere";
}

TEST_F(EveryCall, ToAServerThatIsAwayIsUnreachable) {
  Identity identity(Trusting(ca_), clock_);
  HttpApi api(client_, identity, clock_);
  Prepare();
  server_->GoAway();
  for (const ApiCall& one : Calls()) {
    SCOPED_TRACE(one.attempt);
    Outcome failure = one.run(api, base::Call{}.Within(seconds(20)));
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->kind, ApiError::kUnreachable) << failure->message;
  }
}

}  // namespace
}  // namespace prefetch::kube::http_api_fault_test
