#include "kube/http_api.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "doc/json.h"
#include "fakes/fake_api_server.h"
#include "fakes/fake_clock.h"
#include "fakes/rbac.h"
#include "http/curl_client.h"
#include "http/raw_socket.h"
#include "kube/decode.h"
#include "temp_dir.h"

namespace prefetch::kube::http_api_test {
namespace {

using std::chrono::seconds;

base::Call Patient() {
  return base::Call{}.Within(seconds(20));
}

// What the tests' agent may do: as little as its calls need.
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
  "nodeInfo": {"kubeletVersion": "v1.36.2"}, "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}}}})";

class HttpApiTest : public testing::Test {
 protected:
  HttpApiTest()
      : server_(clock_),
        token_(server_.AddServiceAccountToken("prefetchd", "agent")),
        identity_(MakeCluster(), clock_),
        api_(client_, identity_, clock_) {
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
  HttpApi api_;
};

// EXPECT that a call went well, with the failure's words if not.
#define EXPECT_ANSWER(answer) EXPECT_TRUE((answer).ok()) << ((answer).ok() ? "" : (answer).failure().message)
#define ASSERT_ANSWER(answer) ASSERT_TRUE((answer).ok()) << ((answer).ok() ? "" : (answer).failure().message)

TEST_F(HttpApiTest, GetServerVersion) {
  auto version = api_.GetServerVersion(Patient());
  ASSERT_ANSWER(version);
  EXPECT_EQ(*version, (ServerVersion{"1", "36", "v1.36.2"}));
}

TEST_F(HttpApiTest, GetNode) {
  auto node = api_.GetNode(Patient(), "n1");
  ASSERT_ANSWER(node);
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
  EXPECT_EQ(node->kubelet_port, 10250);
  EXPECT_FALSE(node->unschedulable);
}

TEST_F(HttpApiTest, ALabelIsSetAndTakenAway) {
  EXPECT_ANSWER(api_.SetNodeLabel(Patient(), "n1", "prefetchd.dev/main", "ready"));
  using Labels = std::map<std::string, std::string>;
  EXPECT_EQ(api_.GetNode(Patient(), "n1")->labels, (Labels{{"zone", "a"}, {"prefetchd.dev/main", "ready"}}));
  EXPECT_ANSWER(api_.SetNodeLabel(Patient(), "n1", "prefetchd.dev/main", std::nullopt));
  EXPECT_EQ(api_.GetNode(Patient(), "n1")->labels, (Labels{{"zone", "a"}}));
}

TEST_F(HttpApiTest, TaintsAreWrittenBackWholeOrNotAtAll) {
  auto node = api_.GetNode(Patient(), "n1");
  ASSERT_ANSWER(node);
  node->taints.pop_back();
  auto written = api_.SetNodeTaints(Patient(), "n1", node->resource_version, node->taints);
  ASSERT_ANSWER(written);
  EXPECT_EQ(written->taints, node->taints);  // with value, and the time at which it was added
  EXPECT_NE(written->resource_version, node->resource_version);

  auto stale = api_.SetNodeTaints(Patient(), "n1", node->resource_version, {});
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.failure().kind, ApiError::kConflict);
  EXPECT_EQ(api_.GetNode(Patient(), "n1")->taints, node->taints);
  auto blind = api_.SetNodeTaints(Patient(), "n1", "", {});
  ASSERT_FALSE(blind);
  EXPECT_EQ(blind.failure().kind, ApiError::kInvalid);
}

TEST_F(HttpApiTest, AConditionIsMergedByItsType) {
  NodeCondition mine{.type = "ImagesPrefetched",
                     .status = "False",
                     .reason = "Progressing",
                     .message = "3 of 40",
                     .last_heartbeat = clock_.Wall(),
                     .last_transition = clock_.Wall()};
  EXPECT_ANSWER(api_.SetNodeCondition(Patient(), "n1", mine));
  mine.status = "True";
  EXPECT_ANSWER(api_.SetNodeCondition(Patient(), "n1", mine));
  auto node = api_.GetNode(Patient(), "n1");
  ASSERT_ANSWER(node);
  ASSERT_EQ(node->conditions.size(), 2U);
  EXPECT_EQ(node->conditions[0].type, "Ready");
  EXPECT_EQ(node->conditions[1], mine);
  EXPECT_EQ(node->taints.size(), 3U);

  EXPECT_ANSWER(api_.RemoveNodeCondition(Patient(), "n1", "ImagesPrefetched"));
  EXPECT_ANSWER(api_.RemoveNodeCondition(Patient(), "n1", "ImagesPrefetched"));  // it is gone: that is fine
  EXPECT_EQ(api_.GetNode(Patient(), "n1")->conditions.size(), 1U);
}

TEST_F(HttpApiTest, EventsAreCreatedAndCounted) {
  NodeEvent event{.node = "n1", .node_uid = "uid-2", .warning = true, .reason = "ImageDenied"};
  event.message = "ghcr.io/a/b:v1 is denied";
  event.first = event.last = clock_.Wall();
  auto created = api_.CreateEvent(Patient(), event);
  ASSERT_ANSWER(created);
  EXPECT_TRUE(created->name.starts_with("n1."));
  created->count = 2;
  created->last += seconds(30);
  EXPECT_ANSWER(api_.UpdateEvent(Patient(), *created));
  doc::Node stored = Stored("events/default/" + created->name);
  EXPECT_EQ(TextAt(stored, {"type"}), "Warning");
  EXPECT_EQ(TextAt(stored, {"involvedObject", "kind"}), "Node");
  EXPECT_EQ(TextAt(stored, {"involvedObject", "uid"}), "uid-2");
  EXPECT_EQ(TextAt(stored, {"reportingComponent"}), "prefetchd");
  EXPECT_EQ(TextAt(stored, {"firstTimestamp"}), "2026-08-01T10:00:00Z");
  EXPECT_EQ(TextAt(stored, {"lastTimestamp"}), "2026-08-01T10:00:30Z");
  EXPECT_EQ(stored.Find("count")->integer, 2);
  server_.Delete("events/default/" + created->name);
  EXPECT_EQ(api_.UpdateEvent(Patient(), *created).failure().kind, ApiError::kNotFound);
}

TEST_F(HttpApiTest, AnEventsMessageIsCutToWhatTheServerTakes) {
  NodeEvent event{.node = "n1", .reason = "R", .message = std::string(5000, 'x')};
  auto created = api_.CreateEvent(Patient(), event);
  ASSERT_ANSWER(created);
  EXPECT_EQ(TextAt(Stored("events/default/" + created->name), {"message"}).size(), 1024U);
}

TEST_F(HttpApiTest, CreateToken) {
  server_.Put("serviceaccounts/apps/ecr", "{}");
  auto token = api_.CreateToken(Patient(), "apps", "ecr", "sts.test", 7200);
  ASSERT_ANSWER(token);
  EXPECT_TRUE(token->token.Reveal().starts_with("eyJ"));
  EXPECT_EQ(token->expires,
            clock_.Wall() + std::chrono::hours(1));  // the server gave less than was asked for
  EXPECT_EQ(api_.CreateToken(Patient(), "apps", "ecr", "sts.test", 5).failure().kind, ApiError::kInvalid);
  EXPECT_EQ(api_.CreateToken(Patient(), "apps", "gcr", "sts.test", 7200).failure().kind,
            ApiError::kForbidden);
  EXPECT_EQ(api_.CreateToken(Patient(), "none", "ecr", "sts.test", 7200).failure().kind, ApiError::kNotFound);
}

TEST_F(HttpApiTest, APodIsReadWithItsContainers) {
  server_.Put("pods/team/p",
              R"({"metadata": {"labels": {"app": "x"}, "deletionTimestamp": "2026-08-01T10:00:00Z"},
    "spec": {"nodeName": "n1", "serviceAccountName": "sa", "imagePullSecrets": [{"name": "s"}],
      "initContainers": [{"name": "a", "image": "i:1"}],
      "containers": [{"name": "a", "image": "i:2", "imagePullPolicy": "Never"}, {"name": "b", "image": "i:3"}]},
    "status": {"phase": "Pending", "podIP": "10.1.2.3", "reason": "r", "message": "m",
      "conditions": [{"type": "Ready", "status": "True"}],
      "initContainerStatuses": [{"name": "a", "ready": true, "imageID": "id", "state": {"terminated": {"reason": "Completed"}}}],
      "containerStatuses": [{"name": "a", "ready": false, "state": {"waiting": {"reason": "ErrImageNeverPull", "message": "w"}}}]}})");
  auto pod = api_.GetPod(Patient(), "team", "p");
  ASSERT_ANSWER(pod);
  EXPECT_EQ(pod->node, "n1");
  EXPECT_EQ(pod->name_space, "team");
  EXPECT_EQ(pod->phase, "Pending");
  EXPECT_EQ(pod->ip, "10.1.2.3");
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
  auto dry = api_.CreatePod(Patient(), "touch", pod, DryRun::kYes);
  ASSERT_ANSWER(dry);
  EXPECT_EQ(dry->image_pull_secrets, (std::vector<std::string>{"added"}));
  EXPECT_EQ(server_.Requests().back(), "POST /api/v1/namespaces/touch/pods?dryRun=All");
  EXPECT_EQ(server_.Paths(), (std::vector<std::string>{"nodes/n1"}));

  auto created = api_.CreatePod(Patient(), "touch", pod, DryRun::kNegative);
  ASSERT_ANSWER(created);
  EXPECT_EQ(created->phase, "Pending");
  auto again = api_.CreatePod(Patient(), "touch", pod, DryRun::kNegative);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.failure().kind, ApiError::kConflict);
  EXPECT_EQ(again.failure().reason, "AlreadyExists");

  EXPECT_EQ(api_.DeletePod(Patient(), "touch", "p", "another").failure().kind, ApiError::kConflict);
  EXPECT_ANSWER(api_.DeletePod(Patient(), "touch", "p", created->uid));
  EXPECT_EQ(api_.DeletePod(Patient(), "touch", "p", created->uid).failure().kind, ApiError::kNotFound);
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
    auto page = api_.ListPods(Patient(), "a", options);
    ASSERT_ANSWER(page);
    for (const Pod& pod : page->items) names.push_back(pod.name);
    options.continue_token = page->continue_token;
  } while (!options.continue_token.empty());
  EXPECT_EQ(names, (std::vector<std::string>{"p0", "p2", "p4", "p6"}));
  EXPECT_EQ(api_.ListPods(Patient(), "", {})->items.size(), 8U);
  EXPECT_EQ(api_.ListNodes(Patient(), {.label_selector = "zone=a"})->items.size(), 1U);
  EXPECT_EQ(api_.ListNodes(Patient(), {.label_selector = "zone=b"})->items.size(), 0U);
}

TEST_F(HttpApiTest, AContinueTokenThatIsTooOldMeansToListAnew) {
  server_.Put("nodes/n2", "{}");
  auto page = api_.ListNodes(Patient(), {.limit = 1});
  ASSERT_ANSWER(page);
  server_.ExpireContinueTokens();
  auto next = api_.ListNodes(Patient(), {.limit = 1, .continue_token = page->continue_token});
  ASSERT_FALSE(next);
  EXPECT_EQ(next.failure().kind, ApiError::kGone);
  EXPECT_EQ(next.failure().reason, "Expired");
}

TEST_F(HttpApiTest, PodProxyGet) {
  server_.SetPodAnswer("prefetchd/agent-x:9477/v1/status", R"({"ready":true})");
  auto body = api_.PodProxyGet(Patient(), "prefetchd", "agent-x", 9477, "/v1/status?a=b", {});
  ASSERT_ANSWER(body);
  EXPECT_EQ(*body, R"({"ready":true})");
  EXPECT_EQ(server_.Requests().back(),
            "GET /api/v1/namespaces/prefetchd/pods/agent-x:9477/proxy/v1/status?a=b");
  EXPECT_EQ(api_.PodProxyGet(Patient(), "prefetchd", "gone", 9477, "/x", {}).failure().kind,
            ApiError::kServerError);
}

TEST_F(HttpApiTest, PodProxyPost) {
  server_.SetPodAnswer("prefetchd/agent-x:9477/v1/retry", "done");
  auto body = api_.PodProxyPost(Patient(), "prefetchd", "agent-x", 9477, "/v1/retry", R"({"images":[]})", {});
  ASSERT_ANSWER(body);
  EXPECT_EQ(*body, "done");
  EXPECT_EQ(server_.Requests().back(), "POST /api/v1/namespaces/prefetchd/pods/agent-x:9477/proxy/v1/retry");
}

TEST_F(HttpApiTest, APodsAnswerIsBounded) {
  server_.SetPodAnswer("prefetchd/big:9477/v1/status", std::string(7 << 20, 'x'));
  server_.SetPodAnswer("prefetchd/endless:9477/v1/status", std::string(9 << 20, 'x'));
  EXPECT_ANSWER(api_.PodProxyGet(Patient(), "prefetchd", "big", 9477, "/v1/status", {}));
  EXPECT_EQ(api_.PodProxyGet(Patient(), "prefetchd", "endless", 9477, "/v1/status", {}).failure().kind,
            ApiError::kMalformed);
}

TEST_F(HttpApiTest, PortsThatHaveANameAreKnown) {
  server_.Put("pods/a/p", R"({"spec":{"containers":[{"name":"c","ports":[
    {"name":"http","containerPort":9478},{"containerPort":1},{"name":"bad","containerPort":70000},
    {"name":"worse","containerPort":"x"}]}]}})");
  auto pod = api_.GetPod(Patient(), "a", "p");
  ASSERT_ANSWER(pod);
  EXPECT_EQ(pod->containers.at(0).ports, (std::map<std::string, std::uint16_t>{{"http", 9478}}));
}

TEST_F(HttpApiTest, NamesCannotMakeOtherPaths) {
  for (const char* name : {"", ".", "..", "a/b", "n1/status"}) {
    auto node = api_.GetNode(Patient(), name);
    ASSERT_FALSE(node);
    EXPECT_EQ(node.failure().kind, ApiError::kInvalid) << name;
  }
  EXPECT_EQ(api_.GetPod(Patient(), "..", "p").failure().kind, ApiError::kInvalid);
  EXPECT_EQ(api_.PodProxyGet(Patient(), "a", "..", 1, "/", {}).failure().kind, ApiError::kInvalid);
  EXPECT_TRUE(server_.Requests().empty());
  EXPECT_EQ(api_.GetNode(Patient(), "n1?x=y#z").failure().kind, ApiError::kNotFound);
  EXPECT_EQ(server_.Requests().back(), "GET /api/v1/nodes/n1?x=y#z");  // decoded: it was all of the path
}

TEST_F(HttpApiTest, AnotherObjectThanTheOneThatWasAskedForIsNone) {
  server_.Fail({.status = 200, .body = "{}"});
  EXPECT_EQ(api_.GetNode(Patient(), "n1").failure().kind, ApiError::kMalformed);
}

TEST_F(HttpApiTest, AServerThatIsAwayIsUnreachable) {
  server_.GoAway();
  EXPECT_EQ(api_.GetNode(Patient(), "n1").failure().kind, ApiError::kUnreachable);
  server_.ComeBack();
  EXPECT_ANSWER(api_.GetNode(Patient(), "n1"));
  Identity nowhere({.server = "http://127.0.0.1:1"}, clock_);
  HttpApi api(client_, nowhere, clock_);
  EXPECT_EQ(api.GetNode(Patient(), "n1").failure().kind, ApiError::kUnreachable);
}

TEST_F(HttpApiTest, AStopEndsACall) {
  std::stop_source stop;
  server_.Fail({.hang = true});
  std::jthread stopper([&] {
    while (server_.Requests().empty()) std::this_thread::yield();
    stop.request_stop();
  });
  EXPECT_EQ(api_.GetNode({.stop = stop.get_token()}, "n1").failure().kind, ApiError::kCancelled);
}

TEST_F(HttpApiTest, WhatIsNotGrantedIsSaid) {
  Identity other(
      {.server = server_.url(), .token = base::Secret(server_.AddServiceAccountToken("prefetchd", "other"))},
      clock_);
  HttpApi api(client_, other, clock_);
  auto refused = api.SetNodeCondition(Patient(), "n1", {.type = "T", .status = "True"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().kind, ApiError::kForbidden);
  EXPECT_EQ(refused.failure().message,
            "patch nodes/status \"n1\": the server answered 403: nodes \"n1\" is forbidden: User "
            "\"system:serviceaccount:prefetchd:other\" cannot patch resource \"nodes/status\" in API group "
            "\"\" at the "
            "cluster scope");
}

TEST_F(HttpApiTest, ATokenIsRotatedWhileInUse) {
  EXPECT_ANSWER(api_.GetNode(Patient(), "n1"));
  Rotate(server_.AddServiceAccountToken("prefetchd", "agent"));
  server_.Revoke(token_);
  EXPECT_ANSWER(api_.GetNode(Patient(), "n1"));
  EXPECT_EQ(server_.Requests().size(), 2U);  // the new one was used before the old one was refused
}

TEST_F(HttpApiTest, ATokenThatExpiresIsRefusedUntilThereIsAnother) {
  clock_.Advance(std::chrono::hours(1));
  auto refused = api_.GetNode(Patient(), "n1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().kind, ApiError::kUnauthorized);
  EXPECT_EQ(server_.Requests().size(), 1U);  // the same token again would be refused again
  Rotate(server_.AddServiceAccountToken("prefetchd", "agent"));
  EXPECT_ANSWER(api_.GetNode(Patient(), "n1"));
}

// A plugin's credential is replaced only when the server refuses it: the same call then goes on with the new
// one.
TEST_F(HttpApiTest, ARefusedCredentialIsReplacedWithinTheCall) {
  std::string script = dir_.Write("plugin", "#!/bin/sh\nread t < " + (dir_ / "current") + "\n" +
                                                R"(printf '{"apiVersion":"v","kind":"ExecCredential",)" +
                                                R"("status":{"token":"%s"}}' "$t")" + "\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  dir_.Write("current", token_ + "\n");
  Identity identity({.server = server_.url(), .exec = ExecPlugin{.api_version = "v", .command = script}},
                    clock_);
  HttpApi api(client_, identity, clock_);
  EXPECT_ANSWER(api.SetNodeLabel(Patient(), "n1", "a", "1"));
  server_.Revoke(token_);
  dir_.Write("current", server_.AddServiceAccountToken("prefetchd", "agent") + "\n");
  EXPECT_ANSWER(api.SetNodeLabel(Patient(), "n1", "a", "2"));
  EXPECT_EQ(server_.Requests().size(), 3U);
  EXPECT_EQ(api_.GetNode(Patient(), "n1").failure().kind, ApiError::kUnauthorized);
}

TEST_F(HttpApiTest, WithoutACredentialNothingIsAsked) {
  Identity identity({.server = server_.url(), .token_file = dir_ / "none"}, clock_);
  HttpApi api(client_, identity, clock_);
  auto node = api.GetNode(Patient(), "n1");
  ASSERT_FALSE(node);
  EXPECT_EQ(node.failure().kind, ApiError::kNoCredential);
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
  HttpApi api(client_, identity, clock_);
  EXPECT_EQ(api.GetNode(Patient(), "n1").failure().kind, ApiError::kMalformed);
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
          good += api_.SetNodeLabel(Patient(), "n1", key, std::to_string(i)).ok();
        }
      });
    }
    for (int i = 0; i < 10; i++) Rotate(server_.AddServiceAccountToken("prefetchd", "agent"));
  }
  EXPECT_EQ(good, 120);
  EXPECT_EQ(api_.GetNode(Patient(), "n1")->labels.size(), 7U);
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
  HttpApi api(client, identity, clock);
  const auto version = api.GetServerVersion(Patient());
  ASSERT_TRUE(version) << version.failure().message;
  EXPECT_NE(request.find("\r\nImpersonate-User: me\r\nImpersonate-Group: a\r\n"), std::string::npos)
      << request;
}

}  // namespace
}  // namespace prefetch::kube::http_api_test
