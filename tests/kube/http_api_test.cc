#include "kube/http_api.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "doc/json.h"
#include "fakes/certificates.h"
#include "fakes/fake_api_server.h"
#include "fakes/fake_clock.h"
#include "fakes/rbac.h"
#include "http/curl_client.h"
#include "http/raw_socket.h"
#include "kube/decode.h"
#include "must.h"
#include "rows.h"
#include "temp_dir.h"

namespace prefetch::kube::http_api_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using tests::Fault;

base::Call Patient() {
  return base::Call{}.Within(seconds(20));
}

// Rights of the tests' agent: only those that its calls need.
const std::string kRbac = tests::ClusterRights("{kind: ServiceAccount, name: agent, namespace: prefetchd}",
                                               R"([
 {apiGroups: [""], resources: [nodes], verbs: [get, list, patch]},
 {apiGroups: [""], resources: [nodes/status], verbs: [patch]},
 {apiGroups: [""], resources: [events], verbs: [create, patch]},
 {apiGroups: [""], resources: [serviceaccounts/token], resourceNames: [ecr], verbs: [create]},
 {apiGroups: [""], resources: [pods], verbs: [get, list, create, delete]},
 {apiGroups: [""], resources: [pods/proxy], verbs: [get, create]}])");

constexpr std::string_view kNode = R"({
 "metadata": {"labels": {"zone": "a"}, "managedFields": [{"fieldsV1": {"f:a": {"f:b": {"f:c": {"f:d": {}}}}}}]},
 "spec": {"taints": [
  {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "timeAdded": "2026-08-01T09:00:00Z"},
  {"key": "dedicated", "value": "ci", "effect": "NoSchedule"},
  {"key": "prefetchd.dev/not-ready", "value": "x", "effect": "NoSchedule"}]},
 "status": {
  "addresses": [{"type": "Hostname", "address": "n1"}, {"type": "InternalIP", "address": "10.0.0.1"},
                {"type": "InternalIP", "address": "fd00::1"}, {"type": "ExternalIP", "address": "192.0.2.9"}],
  "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ok",
                  "lastHeartbeatTime": "2026-08-01T10:00:00Z", "lastTransitionTime": null}],
  "nodeInfo": {"kubeletVersion": "v1.36.2"}}})";

class HttpApiTest : public testing::Test {
 protected:
  HttpApiTest()
      : server_(clock_),
        token_(server_.AddServiceAccountToken("prefetchd", "agent")),
        identity_(MakeCluster(), clock_),
        api_(MakeHttpApi(client_, identity_, clock_)) {
    base::Status loaded = server_.LoadRbac(kRbac);
    EXPECT_TRUE(loaded) << loaded.error().message();
    server_.Put("nodes/n1", kNode);
  }

  Cluster MakeCluster() {
    dir_.Write("token", token_ + "\n");
    return {.server = server_.url(), .token_file = dir_ / "token"};
  }
  void Rotate(const std::string& token) {
    dir_.Write("token.new", token);
    std::filesystem::rename(dir_ / "token.new", dir_ / "token");
  }
  doc::Node Stored(const std::string& path) { return server_.Get(path).value_or(doc::Node()); }

  tests::TempDir dir_;
  tests::FakeClock clock_;
  tests::FakeApiServer server_;
  std::string token_;
  http::CurlClient client_;
  Identity identity_;
  std::unique_ptr<Api> api_;
};

// EXPECT that a call went well, with the failure's words if not.
#define EXPECT_ANSWER(answer) EXPECT_TRUE((answer).ok()) << ((answer).ok() ? "" : (answer).failure().message)

TEST_F(HttpApiTest, GetServerVersion) {
  auto version = tests::Must(api_->GetServerVersion(Patient()));
  EXPECT_EQ(*version, (ServerVersion{"1", "36", "v1.36.2"}));
}

TEST_F(HttpApiTest, GetNode) {
  auto node = tests::Must(api_->GetNode(Patient(), "n1"));
  EXPECT_EQ(node->name, "n1");
  EXPECT_EQ(node->uid, "uid-2");
  EXPECT_FALSE(node->resource_version.empty());
  EXPECT_EQ(node->labels, (std::map<std::string, std::string>{{"zone", "a"}}));
  EXPECT_EQ(node->taints,
            (std::vector<Taint>{{"node.kubernetes.io/not-ready", "", "NoExecute", "2026-08-01T09:00:00Z"},
                                {"dedicated", "ci", "NoSchedule", ""},
                                {"prefetchd.dev/not-ready", "x", "NoSchedule", ""}}));
  ASSERT_EQ(node->conditions.size(), 1U);
  EXPECT_EQ(node->conditions[0].reason, "KubeletReady");
  EXPECT_EQ(node->conditions[0].last_heartbeat, clock_.Wall());
  EXPECT_FALSE(node->conditions[0].last_transition);
  EXPECT_EQ(node->addresses, (std::vector<std::string>{"10.0.0.1", "fd00::1", "192.0.2.9"}));
  EXPECT_EQ(node->kubelet_version, "v1.36.2");
  EXPECT_FALSE(node->unschedulable);
}

TEST_F(HttpApiTest, ALabelIsSetAndTakenAway) {
  EXPECT_ANSWER(api_->SetNodeLabel(Patient(), "n1", "prefetchd.dev/main", "ready"));
  using Labels = std::map<std::string, std::string>;
  EXPECT_EQ(api_->GetNode(Patient(), "n1")->labels, (Labels{{"zone", "a"}, {"prefetchd.dev/main", "ready"}}));
  EXPECT_ANSWER(api_->SetNodeLabel(Patient(), "n1", "prefetchd.dev/main", std::nullopt));
  EXPECT_EQ(api_->GetNode(Patient(), "n1")->labels, (Labels{{"zone", "a"}}));
}

TEST_F(HttpApiTest, TaintsAreWrittenBackWholeOrNotAtAll) {
  auto node = tests::Must(api_->GetNode(Patient(), "n1"));
  node->taints.pop_back();
  auto written = tests::Must(api_->SetNodeTaints(Patient(), "n1", node->resource_version, node->taints));
  EXPECT_EQ(written->taints, node->taints);  // with value, and the time at which it was added
  EXPECT_NE(written->resource_version, node->resource_version);

  const auto error = tests::MustFail(api_->SetNodeTaints(Patient(), "n1", node->resource_version, {}));
  EXPECT_EQ(error.kind, ApiError::kConflict);
  EXPECT_EQ(api_->GetNode(Patient(), "n1")->taints, node->taints);
  const auto blind = tests::MustFail(api_->SetNodeTaints(Patient(), "n1", "", {}));
  EXPECT_EQ(blind.kind, ApiError::kInvalid);
}

TEST_F(HttpApiTest, AConditionIsMergedByItsType) {
  NodeCondition mine{.type = "ImagesPrefetched",
                     .status = "False",
                     .reason = "Progressing",
                     .message = "3 of 40",
                     .last_heartbeat = clock_.Wall(),
                     .last_transition = clock_.Wall()};
  EXPECT_ANSWER(api_->SetNodeCondition(Patient(), "n1", mine));
  mine.status = "True";
  EXPECT_ANSWER(api_->SetNodeCondition(Patient(), "n1", mine));
  auto node = tests::Must(api_->GetNode(Patient(), "n1"));
  ASSERT_EQ(node->conditions.size(), 2U);
  EXPECT_EQ(node->conditions[0].type, "Ready");
  EXPECT_EQ(node->conditions[1], mine);
  EXPECT_EQ(node->taints.size(), 3U);

  EXPECT_ANSWER(api_->RemoveNodeCondition(Patient(), "n1", "ImagesPrefetched"));
  EXPECT_ANSWER(api_->RemoveNodeCondition(Patient(), "n1", "ImagesPrefetched"));  // it is gone: that is fine
  EXPECT_EQ(api_->GetNode(Patient(), "n1")->conditions.size(), 1U);
}

TEST_F(HttpApiTest, EventsAreCreatedAndCounted) {
  NodeEvent event{.node = "n1", .node_uid = "uid-2", .warning = true, .reason = "ImageDenied"};
  event.message = "ghcr.io/a/b:v1 is denied";
  event.first = event.last = clock_.Wall();
  auto created = tests::Must(api_->CreateEvent(Patient(), event));
  EXPECT_TRUE(created->name.starts_with("n1."));
  created->count = 2;
  created->last += seconds(30);
  EXPECT_ANSWER(api_->UpdateEvent(Patient(), *created));
  doc::Node stored = Stored("events/default/" + created->name);
  EXPECT_EQ(TextAt(stored, {"type"}), "Warning");
  EXPECT_EQ(TextAt(stored, {"involvedObject", "kind"}), "Node");
  EXPECT_EQ(TextAt(stored, {"involvedObject", "uid"}), "uid-2");
  EXPECT_EQ(TextAt(stored, {"reportingComponent"}), "prefetchd");
  EXPECT_EQ(TextAt(stored, {"firstTimestamp"}), "2026-08-01T10:00:00Z");
  EXPECT_EQ(TextAt(stored, {"lastTimestamp"}), "2026-08-01T10:00:30Z");
  EXPECT_EQ(stored.Find("count")->integer, 2);
  server_.Delete("events/default/" + created->name);
  EXPECT_EQ(api_->UpdateEvent(Patient(), *created).failure().kind, ApiError::kNotFound);
}

TEST_F(HttpApiTest, AnEventsMessageIsCutToWhatTheServerTakes) {
  NodeEvent event{.node = "n1", .reason = "R", .message = std::string(5000, 'x')};
  auto created = tests::Must(api_->CreateEvent(Patient(), event));
  EXPECT_EQ(TextAt(Stored("events/default/" + created->name), {"message"}).size(), 1024U);
}

TEST_F(HttpApiTest, CreateToken) {
  server_.Put("serviceaccounts/apps/ecr", "{}");
  auto token = tests::Must(api_->CreateToken(Patient(), "apps", "ecr", "sts.test", 7200));
  EXPECT_TRUE(token->token.Reveal().starts_with("eyJ"));
  EXPECT_EQ(token->expires,
            clock_.Wall() + std::chrono::hours(1));  // the server gave less than was asked for
  EXPECT_EQ(api_->CreateToken(Patient(), "apps", "ecr", "sts.test", 5).failure().kind, ApiError::kInvalid);
  EXPECT_EQ(api_->CreateToken(Patient(), "apps", "gcr", "sts.test", 7200).failure().kind,
            ApiError::kForbidden);
  EXPECT_EQ(api_->CreateToken(Patient(), "none", "ecr", "sts.test", 7200).failure().kind,
            ApiError::kNotFound);
}

TEST_F(HttpApiTest, APodIsReadWithItsContainers) {
  server_.Put("pods/team/p",
              R"({"metadata": {"deletionTimestamp": "2026-08-01T10:00:00Z"},
    "spec": {"nodeName": "n1", "serviceAccountName": "sa", "imagePullSecrets": [{"name": "s"}],
      "initContainers": [{"name": "a", "image": "i:1"}],
      "containers": [{"name": "a", "image": "i:2", "imagePullPolicy": "Never"}, {"name": "b", "image": "i:3"}]},
    "status": {"phase": "Pending", "reason": "r", "message": "m",
      "conditions": [{"type": "Ready", "status": "True"}],
      "initContainerStatuses": [{"name": "a", "ready": true, "imageID": "id", "state": {"terminated": {"reason": "Completed"}}}],
      "containerStatuses": [{"name": "a", "ready": false, "state": {"waiting": {"reason": "ErrImageNeverPull", "message": "w"}}}]}})");
  auto pod = tests::Must(api_->GetPod(Patient(), "team", "p"));
  EXPECT_EQ(pod->node, "n1");
  EXPECT_EQ(pod->name_space, "team");
  EXPECT_EQ(pod->phase, "Pending");
  EXPECT_TRUE(pod->ready && pod->terminating);
  EXPECT_EQ(pod->service_account, "sa");
  EXPECT_EQ(pod->image_pull_secrets, (std::vector<std::string>{"s"}));
  std::vector<PodContainer> expected = {{.name = "a",
                                         .image = "i:1",
                                         .init = true,
                                         .ready = true,
                                         .image_id = "id",
                                         .terminated_reason = "Completed"},
                                        {.name = "a",
                                         .image = "i:2",
                                         .pull_policy = "Never",
                                         .waiting_reason = "ErrImageNeverPull",
                                         .waiting_message = "w"},
                                        {.name = "b", .image = "i:3"}};
  EXPECT_EQ(pod->containers, expected);
}

doc::Node PodObject(const std::string& json) {
  doc::Problems problems("pod");
  return doc::ParseJson(json, problems).value_or(doc::Node());
}

TEST_F(HttpApiTest, ADryRunShowsWhatAdmissionDoesAndStoresNothing) {
  server_.SetAdmission([](doc::Node& pod) {
    const_cast<doc::Node*>(pod.Find("spec"))
        ->Set("imagePullSecrets",
              doc::Node::Sequence({doc::Node::Mapping().Set("name", doc::Node::String("added"))}));
  });
  doc::Node pod = PodObject(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  auto dry = tests::Must(api_->CreatePod(Patient(), "touch", pod, DryRun::kYes));
  EXPECT_EQ(dry->image_pull_secrets, (std::vector<std::string>{"added"}));
  EXPECT_EQ(server_.Requests().back(), "POST /api/v1/namespaces/touch/pods?dryRun=All");
  EXPECT_EQ(server_.Paths(), (std::vector<std::string>{"nodes/n1"}));

  auto created = tests::Must(api_->CreatePod(Patient(), "touch", pod, DryRun::kNegative));
  EXPECT_EQ(created->phase, "Pending");
  const auto error = tests::MustFail(api_->CreatePod(Patient(), "touch", pod, DryRun::kNegative));
  EXPECT_EQ(error.kind, ApiError::kConflict);
  EXPECT_EQ(error.reason, "AlreadyExists");

  EXPECT_EQ(api_->DeletePod(Patient(), "touch", "p", "another").failure().kind, ApiError::kConflict);
  EXPECT_ANSWER(api_->DeletePod(Patient(), "touch", "p", created->uid));
  EXPECT_EQ(api_->DeletePod(Patient(), "touch", "p", created->uid).failure().kind, ApiError::kNotFound);
}

TEST_F(HttpApiTest, ListsComeInPages) {
  for (int i = 0; i < 7; i++) {
    std::string node = i % 2 == 0 ? "n1" : "n2";
    server_.Put("pods/a/p" + std::to_string(i),
                R"({"metadata":{"labels":{"app":"x"}},"spec":{"nodeName":")" + node + "\"}}");
  }
  server_.Put("pods/b/q", R"({"metadata":{"labels":{"app":"y"}}})");
  std::vector<std::string> names;
  ListOptions options{.label_selector = "app=x", .field_selector = "spec.nodeName=n1", .limit = 3};
  do {
    auto page = tests::Must(api_->ListPods(Patient(), "a", options));
    for (const Pod& pod : page->items) names.push_back(pod.name);
    options.continue_token = page->continue_token;
  } while (!options.continue_token.empty());
  EXPECT_EQ(names, (std::vector<std::string>{"p0", "p2", "p4", "p6"}));
  EXPECT_EQ(api_->ListPods(Patient(), "", {})->items.size(), 8U);
  EXPECT_EQ(api_->ListNodes(Patient(), {.label_selector = "zone=a"})->items.size(), 1U);
  EXPECT_EQ(api_->ListNodes(Patient(), {.label_selector = "zone=b"})->items.size(), 0U);
}

TEST_F(HttpApiTest, AContinueTokenThatIsTooOldMeansToListAnew) {
  server_.Put("nodes/n2", "{}");
  auto page = tests::Must(api_->ListNodes(Patient(), {.limit = 1}));
  server_.ExpireContinueTokens();
  const auto error =
      tests::MustFail(api_->ListNodes(Patient(), {.limit = 1, .continue_token = page->continue_token}));
  EXPECT_EQ(error.kind, ApiError::kGone);
  EXPECT_EQ(error.reason, "Expired");
}

TEST_F(HttpApiTest, PodProxyGet) {
  server_.SetPodAnswer("prefetchd/agent-x:9477/v1/status", R"({"ready":true})");
  auto body = tests::Must(api_->PodProxy(Patient(), {"prefetchd", "agent-x", 9477, "/v1/status?a=b", {}}));
  EXPECT_EQ(*body, R"({"ready":true})");
  EXPECT_EQ(server_.Requests().back(),
            "GET /api/v1/namespaces/prefetchd/pods/agent-x:9477/proxy/v1/status?a=b");
  EXPECT_EQ(api_->PodProxy(Patient(), {"prefetchd", "gone", 9477, "/x", {}}).failure().kind,
            ApiError::kServerError);
}

TEST_F(HttpApiTest, PodProxyPost) {
  server_.SetPodAnswer("prefetchd/agent-x:9477/v1/retry", "done");
  auto body = tests::Must(
      api_->PodProxy(Patient(), {"prefetchd", "agent-x", 9477, "/v1/retry", {}, R"({"images":[]})"}));
  EXPECT_EQ(*body, "done");
  EXPECT_EQ(server_.Requests().back(), "POST /api/v1/namespaces/prefetchd/pods/agent-x:9477/proxy/v1/retry");
}

TEST_F(HttpApiTest, APodsAnswerIsBounded) {
  server_.SetPodAnswer("prefetchd/big:9477/v1/status", std::string(7 << 20, 'x'));
  server_.SetPodAnswer("prefetchd/endless:9477/v1/status", std::string(9 << 20, 'x'));
  const auto status_of = [&](const char* pod) {
    return api_->PodProxy(Patient(), {"prefetchd", pod, 9477, "/v1/status", {}});
  };
  EXPECT_ANSWER(status_of("big"));
  EXPECT_EQ(status_of("endless").failure().kind, ApiError::kMalformed);
}

TEST_F(HttpApiTest, PortsThatHaveANameAreKnown) {
  server_.Put("pods/a/p", R"({"spec":{"containers":[{"name":"c","ports":[
    {"name":"http","containerPort":9478},{"containerPort":1},{"name":"bad","containerPort":70000},
    {"name":"worse","containerPort":"x"}]}]}})");
  auto pod = tests::Must(api_->GetPod(Patient(), "a", "p"));
  EXPECT_EQ(pod->containers.at(0).ports, (std::map<std::string, std::uint16_t>{{"http", 9478}}));
}

TEST_F(HttpApiTest, NamesCannotMakeOtherPaths) {
  for (const char* name : {"", ".", "..", "a/b", "n1/status"}) {
    const auto error = tests::MustFail(api_->GetNode(Patient(), name));
    EXPECT_EQ(error.kind, ApiError::kInvalid) << name;
  }
  EXPECT_EQ(api_->GetPod(Patient(), "..", "p").failure().kind, ApiError::kInvalid);
  EXPECT_EQ(api_->PodProxy(Patient(), {"a", "..", 1, "/", {}}).failure().kind, ApiError::kInvalid);
  EXPECT_TRUE(server_.Requests().empty());
  EXPECT_EQ(api_->GetNode(Patient(), "n1?x=y#z").failure().kind, ApiError::kNotFound);
  EXPECT_EQ(server_.Requests().back(), "GET /api/v1/nodes/n1?x=y#z");  // decoded: it was all of the path
}

TEST_F(HttpApiTest, AnotherObjectThanTheOneThatWasAskedForIsNone) {
  server_.Fail({.status = 200, .body = "{}"});
  EXPECT_EQ(api_->GetNode(Patient(), "n1").failure().kind, ApiError::kMalformed);
}

TEST_F(HttpApiTest, AStopEndsACall) {
  std::stop_source stop;
  server_.Fail({.hang = true});
  std::jthread stopper([&] {
    while (server_.Requests().empty()) std::this_thread::yield();
    stop.request_stop();
  });
  EXPECT_EQ(api_->GetNode({.stop = stop.get_token()}, "n1").failure().kind, ApiError::kCancelled);
}

TEST_F(HttpApiTest, ATokenThatExpiresIsRefusedUntilThereIsAnother) {
  clock_.Advance(std::chrono::hours(1));
  auto refused = api_->GetNode(Patient(), "n1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().kind, ApiError::kUnauthorized);
  EXPECT_EQ(server_.Requests().size(), 1U);  // the same token again would be refused again
  Rotate(server_.AddServiceAccountToken("prefetchd", "agent"));
  EXPECT_ANSWER(api_->GetNode(Patient(), "n1"));
}

// A plugin's credential is replaced only when the server refuses it: the same call then goes on with the new
// one.
TEST_F(HttpApiTest, ARefusedCredentialIsReplacedWithinTheCall) {
  std::string script =
      dir_.WriteProgram("plugin", "#!/bin/sh\nread t < " + (dir_ / "current") + "\n" +
                                      R"(printf '{"apiVersion":"v","kind":"ExecCredential",)" +
                                      R"("status":{"token":"%s"}}' "$t")" + "\n");
  dir_.Write("current", token_ + "\n");
  Identity identity({.server = server_.url(), .exec = ExecPlugin{.api_version = "v", .command = script}},
                    clock_);
  const auto api = MakeHttpApi(client_, identity, clock_);
  EXPECT_ANSWER(api->SetNodeLabel(Patient(), "n1", "a", "1"));
  server_.Revoke(token_);
  dir_.Write("current", server_.AddServiceAccountToken("prefetchd", "agent") + "\n");
  EXPECT_ANSWER(api->SetNodeLabel(Patient(), "n1", "a", "2"));
  EXPECT_EQ(server_.Requests().size(), 3U);
  EXPECT_EQ(api_->GetNode(Patient(), "n1").failure().kind, ApiError::kUnauthorized);
}

TEST_F(HttpApiTest, WithoutACredentialNothingIsAsked) {
  Identity identity({.server = server_.url(), .token_file = dir_ / "none"}, clock_);
  const auto api = MakeHttpApi(client_, identity, clock_);
  const auto error = tests::MustFail(api->GetNode(Patient(), "n1"));
  EXPECT_EQ(error.kind, ApiError::kNoCredential);
  EXPECT_TRUE(server_.Requests().empty());
}

TEST_F(HttpApiTest, TheTokenDoesNotFollowARedirect) {
  std::string elsewhere_got;
  tests::ScriptedServer elsewhere(
      [&](int fd, int) { tests::ScriptedServer::ReadRequest(fd, &elsewhere_got); });
  tests::ScriptedServer redirector([&](int fd, int) {
    tests::ScriptedServer::ReadRequest(fd);
    tests::ScriptedServer::Write(
        fd, "HTTP/1.1 307 Go\r\nLocation: " + elsewhere.Url() + "\r\nContent-Length: 0\r\n\r\n");
  });
  std::string url = redirector.Url("");
  Identity identity({.server = url, .token = base::Secret("t0p")}, clock_);
  const auto api = MakeHttpApi(client_, identity, clock_);
  EXPECT_EQ(api->GetNode(Patient(), "n1").failure().kind, ApiError::kMalformed);
  EXPECT_EQ(elsewhere.accepted(), 0);
}

TEST_F(HttpApiTest, ManyThreadsShareItWhileTheTokenIsRotated) {
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 6; t++) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 20; i++) {
          std::string key = "k" + std::to_string(t);
          good += api_->SetNodeLabel(Patient(), "n1", key, std::to_string(i)).ok();
        }
      });
    }
    for (int i = 0; i < 10; i++) Rotate(server_.AddServiceAccountToken("prefetchd", "agent"));
  }
  EXPECT_EQ(good, 120);
  EXPECT_EQ(api_->GetNode(Patient(), "n1")->labels.size(), 7U);
}

TEST(HttpApi, AsksForTheIdentityThatAKubeconfigNames) {
  std::string request;
  tests::ScriptedServer server([&](int fd, int) {
    tests::ScriptedServer::ReadRequest(fd, &request);
    const std::string body = R"({"gitVersion": "v1.36.2"})";
    tests::ScriptedServer::Write(
        fd, "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  });
  tests::FakeClock clock;
  http::CurlClient client;
  Identity identity(
      {.server = server.Url(""), .impersonation = {{"Impersonate-User", "me"}, {"Impersonate-Group", "a"}}},
      clock);
  const auto api = MakeHttpApi(client, identity, clock);
  const auto version = api->GetServerVersion(Patient());
  ASSERT_TRUE(version) << version.failure().message;
  EXPECT_NE(request.find("\r\nImpersonate-User: me\r\nImpersonate-Group: a\r\n"), std::string::npos)
      << request;
}

// Every call of the Api, and every way in which an API server fails it.

const std::string kHttpApiFaultRbac = tests::ClusterRights("{kind: User, name: agent}",
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
  std::function<Outcome(Api& api, const base::Call& call)> run;
  bool verbatim = false;
};

class EveryCall : public testing::Test {
 protected:
  EveryCall() : ca_(dir_.path(), "right"), other_ca_(dir_.path(), "wrong") {
    tests::KeyPair pair = ca_.Server("api");
    server_.emplace(clock_, tests::FrontOptions{pair.certificate_file, pair.key_file, ""});
    EXPECT_TRUE(server_->LoadRbac(kHttpApiFaultRbac));
    dir_.Write("token", server_->AddToken("agent"));
    server_->SetPodAnswer("a/p:1/x", "{}");
  }

  Cluster Trusting(const tests::CertificateAuthority& ca) const {
    return {.server = server_->url(), .ca_pem = ca.certificate(), .token_file = dir_ / "token"};
  }
  // Restores the objects that each call needs, whatever the call before has left.
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
         [](auto& api, auto& call) {
           return Of(api.PodProxy(call, {"a", "p", 1, "/x", {}}));
         },
         true},
        {"create pods/proxy \"p:1\"",
         [](auto& api, auto& call) {
           return Of(api.PodProxy(call, {"a", "p", 1, "/x", {}, "{}"}));
         },
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
TEST_TABLE_F(FaultTest, EndsInItsKindAndTheNextCallIsFine, EveryCall, FaultCase) {
  const Fault& fault = row.fault;
  const bool of_the_body = fault.status == 200;
  Identity identity(Trusting(ca_), clock_);
  const auto api = MakeHttpApi(client_, identity, clock_);
  for (const ApiCall& one : Calls()) {
    if (one.verbatim && of_the_body && fault.body.size() < (1U << 20)) continue;
    SCOPED_TRACE(one.attempt);
    Prepare();
    const std::size_t before = server_->Requests().size();
    server_->Fail(fault);
    Outcome failure = one.run(*api, base::Call{}.Within(fault.hang ? milliseconds(200) : seconds(20)));
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->kind, row.kind) << failure->message;
    EXPECT_EQ(failure->retry_after ? failure->retry_after->count() : -1, row.retry_after);
    EXPECT_TRUE(failure->message.starts_with(one.attempt)) << failure->message;
    EXPECT_EQ(failure->message.find("fake-"), std::string::npos) << "a token shows";
    EXPECT_EQ(server_->Requests().size() - before, 1U) << "nothing was tried twice";
    Prepare();
    Outcome next = one.run(*api, base::Call{}.Within(seconds(20)));
    EXPECT_FALSE(next) << next->message;
  }
}

TEST_ROWS(HttpApi, FaultTest, {"Unauthorized", {.status = 401}, ApiError::kUnauthorized},
          {"Forbidden", {.status = 403}, ApiError::kForbidden},
          {"NotFound", {.status = 404}, ApiError::kNotFound},
          {"Conflict", {.status = 409}, ApiError::kConflict}, {"Gone", {.status = 410}, ApiError::kGone},
          {"Unprocessable", {.status = 422}, ApiError::kInvalid},
          {"TooMany", {.status = 429, .retry_after = "17"}, ApiError::kTooManyRequests, 17},
          {"ServerError", {.status = 500}, ApiError::kServerError},
          {"Overloaded", {.status = 503, .retry_after = "3"}, ApiError::kServerError, 3},
          {"Redirect", {.status = 307}, ApiError::kMalformed}, {"Hangs", {.hang = true}, ApiError::kTimeout},
          {"Cut", {.cut = true}, ApiError::kUnreachable},
          {"NoJson", {.status = 200, .body = "<html>"}, ApiError::kMalformed},
          {"NoObject", {.status = 200, .body = "[]"}, ApiError::kMalformed},
          {"TooLong", {.status = 200, .body = std::string(9 << 20, ' ')}, ApiError::kMalformed});

TEST_F(EveryCall, WithAnotherAuthorityThanTheServersSendsNothing) {
  Identity identity(Trusting(other_ca_), clock_);
  const auto api = MakeHttpApi(client_, identity, clock_);
  for (const ApiCall& one : Calls()) {
    SCOPED_TRACE(one.attempt);
    Prepare();
    Outcome failure = one.run(*api, base::Call{}.Within(seconds(20)));
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->kind, ApiError::kTlsError) << failure->message;
  }
  EXPECT_TRUE(server_->Requests().empty()) << "no token went anywhere";
}

TEST_F(EveryCall, ToAServerThatIsAwayIsUnreachable) {
  Identity identity(Trusting(ca_), clock_);
  const auto api = MakeHttpApi(client_, identity, clock_);
  Prepare();
  server_->GoAway();
  for (const ApiCall& one : Calls()) {
    SCOPED_TRACE(one.attempt);
    Outcome failure = one.run(*api, base::Call{}.Within(seconds(20)));
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->kind, ApiError::kUnreachable) << failure->message;
  }
}

// The Api over TLS: authorities that are right, wrong and replaced, and client certificates.

const std::string kTlsRbac = tests::ClusterRights("{kind: User, name: ann}",
                                                  R"([
 {apiGroups: [""], resources: [nodes], verbs: [get]}])");

class TlsTest : public testing::Test {
 protected:
  TlsTest() : old_ca_(dir_.path(), "old"), new_ca_(dir_.path(), "new") {}

  void Start(const std::string& client_ca_file = "") {
    tests::KeyPair pair = old_ca_.Server("api");
    server_.emplace(clock_, tests::FrontOptions{pair.certificate_file, pair.key_file, client_ca_file});
    server_->Put("nodes/n1", "{}");
    EXPECT_TRUE(server_->LoadRbac(kTlsRbac));
  }
  // As the mounted service account: token and ca.crt.
  Cluster FromFiles(const std::string& ca) {
    Trust(ca);
    dir_.Write("token", server_->AddToken("ann"));
    return {.server = server_->url(), .ca_file = dir_ / "ca.crt", .token_file = dir_ / "token"};
  }
  void Trust(const std::string& ca) {
    dir_.Write("ca.new", ca);
    std::filesystem::rename(dir_ / "ca.new", dir_ / "ca.crt");
  }
  // "", or the failure's name.
  std::string Get(Identity& identity) {
    const auto api = MakeHttpApi(client_, identity, clock_);
    auto node = api->GetNode(base::Call{}.Within(std::chrono::seconds(20)), "n1");
    return node ? "" : std::string(ApiErrorName(node.failure().kind));
  }

  tests::TempDir dir_;
  tests::CertificateAuthority old_ca_, new_ca_;
  tests::FakeClock clock_;
  std::optional<tests::FakeApiServer> server_;
  http::CurlClient client_;
};

TEST_F(TlsTest, TheRightAuthorityAndTheWrongOne) {
  Start();
  Identity right(FromFiles(old_ca_.certificate()), clock_);
  EXPECT_EQ(Get(right), "");
  Trust(new_ca_.certificate());
  std::size_t before = server_->Requests().size();
  EXPECT_EQ(Get(right), "TLSError");
  EXPECT_EQ(server_->Requests().size(), before);  // no token went anywhere
  Trust(old_ca_.certificate());
  EXPECT_EQ(Get(right), "");
}

// The order of a real rotation: first both are trusted, then the server changes, then the old one goes.
TEST_F(TlsTest, AnAuthorityIsRotatedWhileInUse) {
  Start();
  Identity identity(FromFiles(old_ca_.certificate()), clock_);
  EXPECT_EQ(Get(identity), "");
  Trust(old_ca_.certificate() + new_ca_.certificate());
  EXPECT_EQ(Get(identity), "");
  tests::KeyPair renewed = new_ca_.Server("renewed");
  server_->front().SetCertificate(renewed.certificate_file, renewed.key_file);
  server_->front().CutAll();
  EXPECT_EQ(Get(identity), "");
  Trust(new_ca_.certificate());
  EXPECT_EQ(Get(identity), "");
}

TEST_F(TlsTest, AClientCertificate) {
  Start(new_ca_.certificate_file());
  server_->SetCertificateUser("ann");
  tests::KeyPair ann = new_ca_.Client("ann");
  Identity with({.server = server_->url(),
                 .ca_file = old_ca_.certificate_file(),
                 .certificate_file = ann.certificate_file,
                 .key_file = ann.key_file},
                clock_);
  EXPECT_EQ(Get(with), "");
  Identity without({.server = server_->url(), .ca_file = old_ca_.certificate_file()}, clock_);
  EXPECT_EQ(Get(without),
            "Unreachable");  // the server hangs up: TLS 1.3 knows no better word after a handshake
  Identity insecure({.server = server_->url(),
                     .verify = false,
                     .certificate_file = ann.certificate_file,
                     .key_file = ann.key_file},
                    clock_);
  EXPECT_EQ(Get(insecure), "");
}

TEST_F(TlsTest, AServerOfAnotherName) {
  Start();
  Cluster cluster = FromFiles(old_ca_.certificate());
  cluster.server = "https://localhost:" + std::to_string(server_->front().port());
  Identity wrong(cluster, clock_);
  EXPECT_EQ(Get(wrong), "TLSError");
  cluster.tls_server_name = "api.test";
  Identity right(cluster, clock_);
  EXPECT_EQ(Get(right), "");
}

}  // namespace
}  // namespace prefetch::kube::http_api_test
