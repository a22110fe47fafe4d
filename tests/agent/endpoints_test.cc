#include "agent/answers/endpoints.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "agent/answering_node.h"
#include "agent/reviewing_api.h"
#include "base/clock.h"
#include "ctl/commands.h"
#include "ctl/exit_code.h"
#include "fakes/fake_clock.h"
#include "fakes/fake_image_service.h"
#include "http/curl_client.h"
#include "http/server.h"
#include "rows.h"
#include "status/planted.h"
#include "status/sample.h"
#include "temp_dir.h"

namespace prefetch::agent::endpoints_test {
namespace {

using sample::kPlanted;
using sample::Planted;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

using Query = std::vector<std::pair<std::string, std::string>>;

// The run of a plugin that found credentials.
credentials::Lookup FoundBy(const std::string& provider) {
  return {.providers = {{.name = provider,
                         .matched = true,
                         .outcome = credentials::ProviderOutcome::kOk,
                         .ran_for = seconds(1)}}};
}

class World : public AnsweringNode {
 public:
  explicit World(plan::Snapshot snapshot = sample::PeacefulNode()) : AnsweringNode(std::move(snapshot)) {
    runtime().Preload(tests::MakeImage("docker.io/library/busybox:1.36", 1000));
  }

  http::ServerResponse Ask(Audience audience, std::string path, Query query = {},
                           const char* method = "GET") const {
    http::ServerRequest request{.method = method, .path = std::move(path), .query = std::move(query)};
    return Answer(audience, request);
  }
  http::ServerResponse Post(Audience audience, std::string path, std::string body) const {
    return Answer(audience, {.method = "POST", .path = std::move(path), .body = std::move(body)});
  }
};

// DNS rebinding: a page makes its own name stand for the agent's address.
TEST(Endpoints, APageOfAStrangerReadsNothing) {
  World world;
  const auto status = [&](const std::string& path, const http::Headers& headers,
                          Audience audience = Audience::kPodNetwork) {
    http::ServerRequest request{.path = path, .headers = headers};
    if (path == "/v1/check") {
      request.method = "POST";
      request.body = R"([{"image":"ghcr.io/acme/runner:v3","policy":"Never"}])";
    }
    return world.Answer(audience, request).status;
  };
  for (const char* path : {"/v1/status", "/readyz", "/metrics", "/v1/check"}) {
    EXPECT_EQ(status(path, {{"Host", "evil.example:9477"}}), 421) << path;
    EXPECT_EQ(status(path, {{"Host", "evil.example:9477"}, {"Accept-Encoding", "gzip, deflate"}}), 421)
        << path;
    EXPECT_EQ(status(path, {{"Host", "10.0.0.1:9477"}}), 200) << path;
    EXPECT_EQ(status(path, {{"Host", "evil.example"}}, Audience::kLocal), 200) << path;
    EXPECT_EQ(status(path, {}), 200) << path;
  }
  EXPECT_EQ(status("/livez", {{"Host", "evil.example"}}), 200) << "it tells nothing";
  // These depend on a token.
  EXPECT_EQ(status("/v1/check", {{"Host", "evil.example"}, {"Authorization", "Bearer x"}}), 403);
  EXPECT_EQ(status("/v1/status", {{"Host", "evil.example"}, {"Prefetchd-Authorization", "Bearer x"}}), 403);
}

constexpr bool kTroubled = true;

struct Row {
  std::string name;
  std::string path;
  int neighbour;  // status
  int local;
  std::string says = "";  // somewhere in the local answer's body
  Query query = {};
  bool troubled = false;  // a node that is not ready
};

TEST_TABLE(EndpointsTest, Row, Row) {
  World world(row.troubled ? sample::TroubledNode() : sample::PeacefulNode());
  http::ServerResponse neighbour = world.Ask(Audience::kPodNetwork, row.path, row.query);
  http::ServerResponse local = world.Ask(Audience::kLocal, row.path, row.query);
  EXPECT_EQ(neighbour.status, row.neighbour) << neighbour.body;
  EXPECT_EQ(local.status, row.local) << local.body;
  EXPECT_NE(local.body.find(row.says), std::string::npos) << local.body;
}

const char kHash[] = "sha256:3f9c21aa00000000000000000000000000000000000000000000000000000000";

TEST_ROWS(
    Endpoints, EndpointsTest, {"Livez", "/livez", 200, 200, "ok\n"},
    {"LivezOfANodeThatIsNotReady", "/livez", 200, 200, "ok\n", {}, kTroubled},
    {"Readyz", "/readyz", 200, 200, kHash}, {"ReadyzNot", "/readyz", 503, 503, "not ready", {}, kTroubled},
    {"ReadyzVerbose", "/readyz", 200, 200, "runner:v3", Query{{"verbose", ""}}},
    {"ReadyzVerboseNot", "/readyz", 503, 503, "AccessDenied", Query{{"verbose", "1"}}, kTroubled},
    {"ReadyzPolicy", "/readyz", 200, 200, "", Query{{"policy", "Never"}}},
    {"ReadyzPolicyUnknown", "/readyz", 400, 400, "Never, IfNotPresent or Always", Query{{"policy", "never"}}},
    {"ReadyzPolicyEmpty", "/readyz", 400, 400, "", Query{{"policy", ""}}},
    {"ReadyzHash", "/readyz", 200, 200, "", Query{{"hash", kHash}}},
    {"ReadyzAnotherHash", "/readyz", 503, 503, "", Query{{"hash", "sha256:00"}}},
    {"ReadyzSource", "/readyz", 200, 200, "", Query{{"source", "images.yaml"}}},
    {"ReadyzNoSuchSource", "/readyz", 503, 503, "", Query{{"source", "other.yaml"}}},
    {"ReadyzUnknownParameter", "/readyz", 400, 400, "unknown parameter hsah", Query{{"hsah", "sha256:00"}}},
    {"Status", "/v1/status", 200, 200, "\"reason\":", {}, kTroubled},
    {"Metrics", "/metrics", 200, 200, "\nprefetchd_ready 0\n", {}, kTroubled},
    {"MetricsWithAScrapersParameters", "/metrics", 200, 200, "\nprefetchd_ready 1\n",
     Query{{"format", "prometheus"}}},
    {"Image", "/v1/images/ghcr.io/acme/runner:v3", 404, 200, "runner:v3"},
    {"ImageByShortName", "/v1/images/busybox:1.36", 404, 200, "busybox"},
    {"ImageNotOnTheList", "/v1/images/busybox:2", 404, 404, "\"listed\":false"},
    {"CheckIsAsked", "/v1/check", 405, 405}, {"ImageNoReference", "/v1/images/UPPER", 404, 400, "UPPER"},
    {"ImageNoName", "/v1/images/", 404, 404}, {"Images", "/v1/images", 404, 404}, {"Root", "/", 404, 404},
    {"BelowAnEndpoint", "/livez/", 404, 404}, {"AnothersPath", "/healthz", 404, 404});

// One endpoint, with a text that only the local socket shows.
struct Shown {
  std::string name;
  std::string path;
  Query query;
  std::string local_only;  // somewhere in the local answer, and nowhere in the other
  std::string both;
};
TEST_TABLE(ShownTest, Row, Shown) {
  plan::Snapshot node = sample::TroubledNode();
  node.readiness.reason = plan::Reason::kCredentialsInvalid;
  node.readiness.message = "the credential provider configuration cannot be used: acme.yaml";
  node.problems = {"provider acme-login cannot be used"};
  node.unlisted = std::make_shared<const plan::Unlisted>(
      plan::Unlisted{.since = sample::At(-9), .images = {{.image = "tenant.example/app:v1"}}, .left_out = 0});
  World world(std::move(node));
  world.metrics.CredentialsFound(FoundBy("acme-login"));
  const std::string neighbour = world.Ask(Audience::kPodNetwork, row.path, row.query).body;
  const std::string local = world.Ask(Audience::kLocal, row.path, row.query).body;
  EXPECT_NE(local.find(row.local_only), std::string::npos) << local;
  EXPECT_EQ(neighbour.find(row.local_only), std::string::npos) << neighbour;
  EXPECT_NE(local.find(row.both), std::string::npos) << local;
  EXPECT_NE(neighbour.find(row.both), std::string::npos) << neighbour;
}

TEST_ROWS(Endpoints, ShownTest,
          {"StatusMessages", "/v1/status", {}, "\"message\":", "\"reason\":\"AccessDenied\""},
          {"StatusUnlisted", "/v1/status", {}, "tenant.example", "\"phase\":"},
          {"StatusCredentials", "/v1/status", {}, "\"credential\":", "\"pull\":"},
          {"Readyz", "/readyz", {}, "acme.yaml", "not ready: "},
          {"ReadyzOfASource", "/readyz", {{"source", "images.yaml"}}, "acme.yaml", "not ready: "},
          {"ReadyzVerbose", "/readyz", {{"verbose", ""}}, "acme-login", "AccessDenied"},
          {"ReadyzVerboseMessages", "/readyz", {{"verbose", ""}}, "AccessDenied: ", "[-] "},
          {"Metrics", "/metrics", Query{}, "provider=\"acme-login\"",
           "prefetchd_credential_provider_duration_seconds_count{"});

TEST(PublicChecks, TellNoMessage) {
  World world(sample::TroubledNode());
  const char ask[] = R"([{"image":"quay.io/acme/private:v2","policy":"Never"}])";
  auto local = status::ParseCheckResult(world.Post(Audience::kLocal, "/v1/check", ask).body);
  auto open = status::ParseCheckResult(world.Post(Audience::kPodNetwork, "/v1/check", ask).body);
  ASSERT_TRUE(local && open);
  EXPECT_EQ(local->answers[0].reason, open->answers[0].reason);
  EXPECT_NE(local->answers[0].message, open->answers[0].message);
  EXPECT_NE(open->answers[0].message.find("local socket"), std::string::npos) << open->answers[0].message;
}

struct Type {
  std::string name;
  std::string path;
  std::string type;
};

TEST_TABLE(ContentTypeTest, Row, Type) {
  EXPECT_EQ(World().Ask(Audience::kLocal, row.path).content_type, row.type);
}

TEST_ROWS(Endpoints, ContentTypeTest, {"Livez", "/livez", "text/plain; charset=utf-8"},
          {"Readyz", "/readyz", "text/plain; charset=utf-8"}, {"Status", "/v1/status", "application/json"},
          {"Image", "/v1/images/busybox:1.36", "application/json"},
          {"Metrics", "/metrics", "text/plain; version=0.0.4; charset=utf-8"});

using PathAndMethod = std::tuple<const char*, const char*>;
TEST_TABLE(MethodTest, IsNotAllowed, PathAndMethod) {
  auto [path, method] = row;
  World world;
  http::ServerResponse answer = world.Ask(Audience::kLocal, path, {}, method);
  EXPECT_EQ(answer.status, 405);
  EXPECT_TRUE(answer.headers.Has("Allow"));
}

INSTANTIATE_TEST_SUITE_P(Endpoints, MethodTest,
                         testing::Combine(testing::Values("/livez", "/readyz", "/v1/status", "/metrics",
                                                          "/v1/images/busybox:1.36"),
                                          testing::Values("POST", "PUT", "PATCH", "DELETE", "OPTIONS")));

// A neighbour is not even told that the path exists.
TEST(Endpoints, NeighboursPostToAnImageIsNotFound) {
  EXPECT_EQ(World().Ask(Audience::kPodNetwork, "/v1/images/busybox:1.36", {}, "POST").status, 404);
}

const char kChecks[] =
    R"({"checks":[{"image":"busybox:1.36","policy":"Never"},{"image":"busybox:2","policy":"Never"}]})";

TEST(Endpoints, ACheckIsAnsweredForEachImage) {
  World world;
  http::ServerResponse answer = world.Post(Audience::kLocal, "/v1/check", kChecks);
  EXPECT_EQ(answer.status, 200);
  auto result = status::ParseCheckResult(answer.body);
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_FALSE(result->ok);
  ASSERT_EQ(result->answers.size(), 2U);
  EXPECT_TRUE(result->answers[0].ok);
  EXPECT_EQ(result->answers[0].result.text(), "Starts");
  EXPECT_EQ(result->answers[1].reason, "ImageAbsent");
}

TEST(Endpoints, ABadCheckIsToldAllItsMistakes) {
  http::ServerResponse answer =
      World().Post(Audience::kPodNetwork, "/v1/check", R"([{"policy":"never"},{"image":"a","x":1}])");
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.body.find("[0].image"), std::string::npos) << answer.body;
  EXPECT_NE(answer.body.find("Never, IfNotPresent or Always"), std::string::npos) << answer.body;
  EXPECT_NE(answer.body.find("[1].x"), std::string::npos) << answer.body;
}

TEST(Endpoints, ACheckOfNothingIsRefused) {
  for (const char* nothing : {"[]", R"({"checks":[]})"}) {
    http::ServerResponse answer = World().Post(Audience::kLocal, "/v1/check", nothing);
    EXPECT_EQ(answer.status, 400);
    EXPECT_NE(answer.body.find("must have at least one check"), std::string::npos) << answer.body;
  }
}

TEST(Endpoints, NeighboursChecksAreThrottled) {
  World world;
  http::ServerRequest request{.method = "POST", .path = "/v1/check", .body = R"([{"image":"a:v1"}])"};
  http::Handler handler = world.Handler(Audience::kPodNetwork);
  int asked = 0;
  auto status = [&] {
    request.peer = "10.0.0." + std::to_string(asked++ % 10);
    return handler(request).Wait({}).status;
  };
  for (int i = 0; i < kChecksAtOnce; i++) ASSERT_EQ(status(), 200) << i;
  http::ServerResponse refusal = handler(request).Wait({});
  EXPECT_EQ(refusal.status, 429);
  EXPECT_TRUE(refusal.headers.Has("Retry-After"));
  world.clock.Advance(std::chrono::seconds(1));
  for (int i = 0; i < kChecksPerSecond; i++) ASSERT_EQ(status(), 200) << i;
  EXPECT_EQ(status(), 429);
  http::Handler local = world.Handler(Audience::kLocal);
  for (int i = 0; i < 2 * kChecksAtOnce; i++) ASSERT_EQ(local(request).Wait({}).status, 200);
}

TEST(Endpoints, ANeighbourWhoAsksTooMuchLeavesChecksToTheOthers) {
  World world;
  http::ServerRequest request{
      .method = "POST", .path = "/v1/check", .body = R"([{"image":"a:v1"}])", .peer = "10.0.0.66"};
  http::Handler handler = world.Handler(Audience::kPodNetwork);
  for (int i = 0; i < 10 * kChecksAtOnce; i++) handler(request).Wait({});
  EXPECT_EQ(handler(request).Wait({}).status, 429);
  world.clock.Advance(std::chrono::seconds(1));
  for (int i = 0; i < 10 * kChecksAtOnce; i++) handler(request).Wait({});
  request.peer = "10.0.0.1";
  for (int i = 0; i < kChecksPerSecond * 3 / 4; i++) ASSERT_EQ(handler(request).Wait({}).status, 200) << i;
}

TEST(Endpoints, PullsAreForLocalEarsWhereTheyAreAllowed) {
  World world;
  const std::string ask = R"({"checks":[{"image":"a:v1","policy":"Never"}],"pull":true,"wait":"0s"})";
  http::ServerResponse neighbour = world.Post(Audience::kPodNetwork, "/v1/check", ask);
  EXPECT_EQ(neighbour.status, 403);
  EXPECT_NE(neighbour.body.find("local socket"), std::string::npos) << neighbour.body;
  http::ServerResponse local = world.Post(Audience::kLocal, "/v1/check", ask);
  EXPECT_EQ(local.status, 403);
  EXPECT_NE(local.body.find("--check-pull"), std::string::npos) << local.body;
  const std::string no_pull = R"({"checks":[{"image":"a:v1","policy":"Never"}],"pull":false})";
  EXPECT_EQ(world.Post(Audience::kPodNetwork, "/v1/check", no_pull).status, 200);
  EXPECT_EQ(world.Post(Audience::kLocal, "/v1/check", R"({"checks":[{"image":"a:v1"}],"pull":"yes"})").status,
            400);
  EXPECT_EQ(world.Post(Audience::kLocal, "/v1/check", R"({"checks":[{"image":"a:v1"}],"wait":"-1s"})").status,
            400);
  EXPECT_EQ(world.Post(Audience::kLocal, "/v1/check", R"({"checks":[{"image":"a:v1"}],"wait":5})").status,
            400);
}

TEST(Endpoints, LivezSaysWhenTheLoopIsStuck) {
  World world;
  world.clock.Advance(seconds(29));
  EXPECT_EQ(world.Ask(Audience::kPodNetwork, "/livez").status, 200);
  world.clock.Advance(seconds(13));
  http::ServerResponse stuck = world.Ask(Audience::kPodNetwork, "/livez");
  EXPECT_EQ(stuck.status, 503);
  EXPECT_EQ(stuck.body, "the loop has not turned for 42 s\n");
  // The rest still answers: what was true last.
  EXPECT_EQ(world.Ask(Audience::kPodNetwork, "/readyz").status, 200);
}

TEST(Endpoints, AStatusThatRanOutOfMemoryIsWrittenForTheNext) {
  bool fits = false;
  CachedStatusText status(std::make_shared<const plan::Snapshot>(),
                          [&](const plan::Snapshot&, base::WallTime) -> std::string {
                            if (!std::exchange(fits, true)) throw std::bad_alloc();
                            return "{}";
                          });
  EXPECT_THROW(status.Write({}), std::bad_alloc);
  EXPECT_EQ(*status.Write({}), "{}");
}

// A Snapshot stands until something changes, and its document is still of the moment in which it is served.
TEST(Endpoints, TheStatusHasTheTimeAtWhichItIsServed) {
  World world;
  plan::Snapshot node = sample::TroubledNode();
  const base::WallTime agreed = world.clock.Wall() - std::chrono::seconds(5);
  for (plan::ImageState& image : node.images) {
    auto registry = std::make_shared<plan::RegistryView>();
    registry->confirmed_at = agreed;
    image.registry = std::move(registry);
  }
  node.time = world.clock.Wall();
  world.Publish(std::move(node));
  for (Audience audience : {Audience::kLocal, Audience::kPodNetwork}) {
    SCOPED_TRACE(audience == Audience::kLocal);
    for (int i = 0; i < 2; ++i) {
      std::string body = world.Ask(audience, "/v1/status").body;
      EXPECT_NE(body.find("\"time\":\"" + base::Rfc3339(world.clock.Wall()) + '"'), std::string::npos)
          << body;
      const auto age = std::chrono::floor<std::chrono::seconds>(world.clock.Wall() - agreed).count();
      if (audience == Audience::kLocal) {
        EXPECT_NE(body.find("\"ageSeconds\":" + std::to_string(age) + ','), std::string::npos) << body;
      }
      world.clock.Advance(std::chrono::minutes(20));
    }
  }
  std::string one = world.Ask(Audience::kLocal, "/v1/images/docker.io/library/busybox:1.36").body;
  EXPECT_NE(one.find("\"time\":\"" + base::Rfc3339(world.clock.Wall()) + '"'), std::string::npos) << one;
}

// The agent writes a long document once a second, whoever asks, and not on the server's thread.
TEST(Endpoints, TheStatusIsWrittenOnceASecondAndViewAndShared) {
  World world;
  http::Handler local = world.Handler(Audience::kLocal), neighbours = world.Handler(Audience::kPodNetwork);
  http::ServerRequest request{.path = "/v1/status"};
  http::HandlerResult first = neighbours(request), second = neighbours(request);
  ASSERT_TRUE(first.deferred());
  EXPECT_EQ(first.kind(), http::JobKind::kCompute);
  http::SharedBody text = std::move(first).Wait({}).shared;
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(std::move(second).Wait({}).shared, text);
  http::HandlerResult known = neighbours(request);
  EXPECT_FALSE(known.deferred());
  EXPECT_EQ(std::move(known).TakeResponse().shared, text);

  http::SharedBody full = local(request).Wait({}).shared;
  ASSERT_NE(full, nullptr);
  EXPECT_NE(*full, *text);
  EXPECT_EQ(local(request).Wait({}).shared, full);

  world.clock.Advance(seconds(1));
  http::SharedBody later = neighbours(request).Wait({}).shared;
  ASSERT_NE(later, nullptr);
  EXPECT_NE(*later, *text) << "the time is another one";

  world.Publish(sample::TroubledNode());
  http::HandlerResult newer = neighbours(request);
  EXPECT_TRUE(newer.deferred());
  EXPECT_NE(*std::move(newer).Wait({}).shared, *text);
}

TEST(Endpoints, WhatGrowsWithTheListIsNotWrittenOnTheServersThread) {
  World world;
  http::Handler handler = world.Handler(Audience::kPodNetwork);
  http::ServerRequest verbose{.path = "/readyz", .query = {{"verbose", ""}}};
  for (const http::ServerRequest& request : {verbose, http::ServerRequest{.path = "/metrics"}}) {
    http::HandlerResult answer = handler(request);
    ASSERT_TRUE(answer.deferred()) << request.path;
    EXPECT_EQ(answer.kind(), http::JobKind::kCompute) << request.path;
  }
  EXPECT_FALSE(handler({.path = "/readyz"}).deferred()) << "kubelet's probe";
}

TEST(Endpoints, MetricsShowWhatWasCountedAndWhatIsTrue) {
  World world(sample::TroubledNode());
  world.metrics.PullEnded({.result = PullResult::kFailed, .reason = plan::Reason::kNotFound});
  for (Audience audience : {Audience::kPodNetwork, Audience::kLocal}) {
    std::string text = world.Ask(audience, "/metrics").body;
    for (const char* line :
         {"\nprefetchd_pulls_total{result=\"failed\",class=\"NotFound\"} 1\n",
          "\nprefetchd_pulls_running 2\n", "\nprefetchd_build_info{version=\"" PREFETCH_VERSION "\"} 1\n",
          "\nprocess_open_fds "}) {
      EXPECT_NE(text.find(line), std::string::npos) << line << "in\n" << text;
    }
  }
}

// The answer to each kind of caller: endpoint x transport x caller.

// The caller, and the header that identifies it.
enum class Caller {
  kNobody,
  kFleet,          // a fleet token in Prefetchd-Authorization
  kFleetByOther,   // the same in Authorization, as nobody can send it through pods/proxy
  kPod,            // a pod's token in Authorization
  kPodByFleets,    // the same in Prefetchd-Authorization
  kFleetForOther,  // a token of that account for the API server
  kGarbage,        // in Prefetchd-Authorization
};

using enum Caller;

constexpr const char* kCheck = R"([{"image":"quay.io/acme/private:v2","policy":"Never"}])";
// In each answer in full, and in no other; of /metrics it is the second.
constexpr const char* kMessage = "401 Unauthorized from quay.io";
constexpr const char* kProvider = R"(provider="acme-login")";

class EndpointCallersWorld {
 public:
  EndpointCallersWorld(bool preflight, bool fleet) {
    node_.metrics.CredentialsFound(FoundBy("acme-login"));
    plan::CallerRules rules;
    if (preflight) rules.namespaces = {"*"};
    if (preflight || fleet) {
      callers_.emplace(rules, fleet, plan::AgentLocation{"n1", "prefetchd"}, *api_.api, node_.metrics,
                       node_.clock);
    }
  }

  http::ServerResponse Ask(Audience audience, const std::string& path, Caller caller) {
    http::ServerRequest request{.path = path, .headers = HeadersOf(caller)};
    if (path == "/readyz") request.query = {{"verbose", ""}};
    if (path == "/v1/check" || path == "/v1/retry") {
      request.method = "POST";
      if (path == "/v1/check") request.body = kCheck;
    }
    return node_.Answer(audience, request, callers_ ? &*callers_ : nullptr);
  }
  tests::FakeApiServer& server() { return api_.server; }

 private:
  http::Headers HeadersOf(Caller caller) {
    const std::string fleet =
        "Bearer " + server().AddPodToken({"prefetchd", "prefetchd-fleet", "", ""}, "prefetchd");
    const std::string pod = "Bearer " + server().AddPodToken({"ci", "runner", "n1", "job"}, "prefetchd");
    switch (caller) {
      case kNobody:
        return {};
      case kFleet:
        return {{"Prefetchd-Authorization", fleet}};
      case kFleetByOther:
        return {{"Authorization", fleet}};
      case kPod:
        return {{"Authorization", pod}};
      case kPodByFleets:
        return {{"Prefetchd-Authorization", pod}};
      case kFleetForOther:
        return {{"Prefetchd-Authorization",
                 "Bearer " + server().AddPodToken({"prefetchd", "prefetchd-fleet", "", ""}, "kubernetes")}};
      case kGarbage:
        return {{"Prefetchd-Authorization", "Bearer garbage"}};
    }
    return {};
  }

  AnsweringNode node_{sample::TroubledNode()};
  ReviewingApi api_{node_.clock};
  std::optional<ClientAuthenticator> callers_;
};

constexpr Audience kTcp = Audience::kPodNetwork, kLocal = Audience::kLocal;

struct EndpointCallersRow {
  std::string name;
  std::string path;
  Audience audience;
  Caller caller;
  int status;
  bool full;  // the answer has messages
  bool preflight = true, fleet = true;
};

TEST_TABLE(AnsweredTest, Row, EndpointCallersRow) {
  EndpointCallersWorld world(row.preflight, row.fleet);
  const http::ServerResponse answer = world.Ask(row.audience, row.path, row.caller);
  EXPECT_EQ(answer.status, row.status) << answer.body;
  const bool metrics = row.path == "/metrics";
  EXPECT_EQ(answer.body.find(kMessage) != std::string::npos, row.full && !metrics) << answer.body;
  EXPECT_EQ(answer.body.find(kProvider) != std::string::npos, row.full && metrics) << answer.body;
  EXPECT_EQ(answer.body.find("eyJ"), std::string::npos) << answer.body;
}

TEST_ROWS(Endpoints, AnsweredTest, {"StatusTcpNobody", "/v1/status", kTcp, kNobody, 200, false},
          {"StatusTcpFleet", "/v1/status", kTcp, kFleet, 200, true},
          {"StatusTcpFleetWithoutPreflight", "/v1/status", kTcp, kFleet, 200, true, false},
          {"StatusTcpFleetTurnedOff", "/v1/status", kTcp, kFleet, 403, false, true, false},
          {"StatusTcpFleetNothingOn", "/v1/status", kTcp, kFleet, 403, false, false, false},
          {"StatusTcpFleetByOther", "/v1/status", kTcp, kFleetByOther, 200, false},
          {"StatusTcpPod", "/v1/status", kTcp, kPod, 200, false},
          {"StatusTcpPodByFleets", "/v1/status", kTcp, kPodByFleets, 403, false},
          {"StatusTcpForOther", "/v1/status", kTcp, kFleetForOther, 401, false},
          {"StatusTcpGarbage", "/v1/status", kTcp, kGarbage, 401, false},
          {"StatusLocalNobody", "/v1/status", kLocal, kNobody, 200, true},
          {"StatusLocalGarbage", "/v1/status", kLocal, kGarbage, 200, true},
          {"ReadyzTcpNobody", "/readyz", kTcp, kNobody, 503, false},
          {"ReadyzTcpFleet", "/readyz", kTcp, kFleet, 503, false},
          {"ReadyzLocalNobody", "/readyz", kLocal, kNobody, 503, true},
          {"MetricsTcpNobody", "/metrics", kTcp, kNobody, 200, false},
          {"MetricsLocalNobody", "/metrics", kLocal, kNobody, 200, true},
          {"MetricsTcpFleet", "/metrics", kTcp, kFleet, 200, false},
          {"LivezTcpFleet", "/livez", kTcp, kFleet, 200, false},
          {"CheckTcpNobody", "/v1/check", kTcp, kNobody, 200, false},
          {"CheckTcpFleet", "/v1/check", kTcp, kFleet, 403, false},
          {"CheckTcpFleetByOther", "/v1/check", kTcp, kFleetByOther, 401, false},
          {"CheckTcpPod", "/v1/check", kTcp, kPod, 200, false},
          {"CheckTcpPodTurnedOff", "/v1/check", kTcp, kPod, 403, false, false},
          {"CheckTcpPodByFleets", "/v1/check", kTcp, kPodByFleets, 403, false},
          {"CheckLocalNobody", "/v1/check", kLocal, kNobody, 200, true},
          {"RetryLocalNobody", "/v1/retry", kLocal, kNobody, 200, false},
          {"RetryTcpNobody", "/v1/retry", kTcp, kNobody, 403, false},
          {"RetryTcpFleet", "/v1/retry", kTcp, kFleet, 200, false},
          {"RetryTcpFleetTurnedOff", "/v1/retry", kTcp, kFleet, 403, false, true, false},
          {"RetryTcpFleetByOther", "/v1/retry", kTcp, kFleetByOther, 403, false},
          {"RetryTcpPod", "/v1/retry", kTcp, kPod, 403, false},
          {"RetryTcpPodByFleets", "/v1/retry", kTcp, kPodByFleets, 403, false},
          {"RetryTcpForOther", "/v1/retry", kTcp, kFleetForOther, 401, false},
          {"RetryTcpGarbage", "/v1/retry", kTcp, kGarbage, 401, false},
          {"ImageLocalNobody", "/v1/images/quay.io/acme/private:v2", kLocal, kNobody, 200, true},
          {"ImageTcpFleet", "/v1/images/quay.io/acme/private:v2", kTcp, kFleet, 404, false},
          {"ImageTcpPod", "/v1/images/quay.io/acme/private:v2", kTcp, kPod, 404, false});

TEST(FleetStatus, IsHeldBackWhileTheApiServerIsAway) {
  EndpointCallersWorld world(false, true);
  world.server().GoAway();
  const http::ServerResponse away = world.Ask(kTcp, "/v1/status", kFleet);
  EXPECT_EQ(away.status, 503);
  EXPECT_TRUE(away.headers.Has("Retry-After"));
  EXPECT_EQ(away.body.find(kMessage), std::string::npos) << away.body;
  EXPECT_EQ(world.Ask(kTcp, "/v1/status", kNobody).status, 200);
}

// 200 jobs that start at once: real clients, a real server, the agent's own endpoints.

constexpr int kJobs = 200;
const std::string kListed = "ghcr.io/acme/runner:v3";

// A runtime that needs a moment for its list, as containerd with hundreds of images does.
class SlowRuntime final : public tests::FakeImageService {
 public:
  using FakeImageService::FakeImageService;
  cri::CallResult<std::vector<image::LocalImage>> ListImages(const base::Call& call) override {
    base::Pause(call, milliseconds(10));
    return FakeImageService::ListImages(call);
  }
};

class CheckRush : public testing::Test {
 protected:
  CheckRush() {
    board_.Publish(std::make_shared<const plan::Snapshot>(sample::PeacefulNode()));
    board_.RecordTurn(clock_.Now());
  }

  // How many were told within 5 s, of jobs that all ask at the same moment.
  int ToldInTime(base::Result<http::Listener> listener, Audience audience, const std::string& address) {
    EXPECT_TRUE(listener);
    http::ServerLimits limits;
    if (audience == Audience::kPodNetwork) limits.deferred_queue = kPodNetworkQueueLimit;
    auto server =
        http::Server::Start(std::move(*listener), limits,
                            Endpoints(board_, metrics_, image_queries_, retries_, clock_, audience));
    EXPECT_TRUE(server);
    const std::string at = address.empty() ? "http://" + (*server)->address() : address;
    std::atomic<int> told = 0;
    std::barrier start(kJobs);
    std::vector<std::jthread> jobs;
    for (int i = 0; i < kJobs; i++) {
      jobs.emplace_back([&] {
        http::CurlClient client;
        auto agent = ctl::AgentClient::Make(client, at);
        std::ostringstream out, err;
        start.arrive_and_wait();
        const auto began = steady_clock::now();
        const int exit = ctl::Check({}, *agent, {.images = {{kListed, "Never"}}, .timeout = "30s"}, out, err);
        if (exit != ctl::kTimedOut && out.str().find(kListed) != std::string::npos &&
            steady_clock::now() - began < seconds(5)) {
          told++;
        }
      });
    }
    jobs.clear();
    return told;
  }

  tests::TempDir dir_;
  base::SystemClock clock_;
  Metrics metrics_;
  tests::FakeClock runtime_clock_;
  SlowRuntime runtime_{runtime_clock_, tests::Persona::kContainerd16};
  credentials::Keyring keyring_{{.docker_configs = {"/absent"}}, clock_};
  Board board_;
  ImageQueryService image_queries_{board_, runtime_, runtime_, keyring_, clock_};
  Retries retries_{board_, clock_, [](const std::vector<std::string>&) {}};
};

TEST_F(CheckRush, NeighboursAreAllTold) {
  EXPECT_EQ(ToldInTime(http::Listener::Tcp("127.0.0.1:0"), Audience::kPodNetwork, ""), kJobs);
}

TEST_F(CheckRush, UsersOfTheSocketAreAllTold) {
  const std::string path = dir_ / "a.sock";
  EXPECT_EQ(ToldInTime(http::Listener::Unix(path, 0600), Audience::kLocal, "unix://" + path), kJobs);
}

// POST /v1/retry: which images are retried, and how often.

using Names = std::vector<std::string>;

// Two wait for their next attempt, one is here.
plan::Snapshot RetriesShown() {
  plan::Snapshot snapshot;
  snapshot.node = "ci-7";
  for (const char* name : {"quay.io/acme/a:v1", "docker.io/library/b:1", "quay.io/acme/c:v1"}) {
    plan::ImageState image;
    image.desired = plan::DesiredImage{.reference = *image::Reference::Parse(name)};
    image.pull.state = plan::PullState::kWaiting;
    snapshot.images.push_back(std::move(image));
  }
  snapshot.images[2].pull.state = plan::PullState::kDone;
  return snapshot;
}

class RetryTest : public testing::Test {
 protected:
  http::ServerResponse Ask(const std::string& body) {
    return handler_({.method = "POST", .path = "/v1/retry", .body = body}).Wait({});
  }

  AnsweringNode node_{RetriesShown()};
  http::Handler handler_ = node_.Handler(Audience::kLocal);
};

TEST_F(RetryTest, WithoutNamesAllThatWait) {
  for (const char* body : {"", "{}", R"({"images":[]})"}) {
    const http::ServerResponse answer = Ask(body);
    EXPECT_EQ(answer.status, 200);
    auto result = status::ParseRetryResult(answer.body);
    ASSERT_TRUE(result) << answer.body;
    EXPECT_EQ(result->node, "ci-7");
    EXPECT_EQ(result->images.size(), 2U);
  }
  EXPECT_EQ(node_.retried()[0], (Names{"quay.io/acme/a:v1", "docker.io/library/b:1"}));
}

TEST_F(RetryTest, TheNamedOnes) {
  auto result =
      status::ParseRetryResult(Ask(R"({"images":["b:1","quay.io/acme/c:v1","quay.io/x:v1"]})").body);
  ASSERT_TRUE(result);
  using status::RetryState;
  EXPECT_EQ(result->images, (std::vector<status::RetriedImage>{{"b:1", RetryState::kRequested},
                                                               {"quay.io/acme/c:v1", RetryState::kNotWaiting},
                                                               {"quay.io/x:v1", RetryState::kNotListed}}));
  EXPECT_EQ(node_.retried(), (std::vector<Names>{{"docker.io/library/b:1"}}));
}

// Nobody hammers a registry through an agent.
TEST_F(RetryTest, ThreeAtOnceAndThenOneAMinute) {
  for (int i = 0; i < 3; i++) EXPECT_EQ(Ask("").status, 200);
  const http::ServerResponse away = Ask("");
  EXPECT_EQ(away.status, 429);
  EXPECT_EQ(away.headers.Get("Retry-After"), "60");
  EXPECT_EQ(node_.retried().size(), 3U);
  EXPECT_EQ(Ask(R"({"images":["quay.io/acme/c:v1"]})").status, 200) << "nothing to retry costs nothing";
  node_.clock.Advance(seconds(61));
  EXPECT_EQ(Ask("").status, 200);
  EXPECT_EQ(Ask("").status, 429);
}

TEST_F(RetryTest, BadRequests) {
  for (const char* body : {"[]", "{", R"({"images":"a"})", R"({"images":["A B"]})", R"({"image":["a:1"]})"}) {
    EXPECT_EQ(Ask(body).status, 400) << body;
  }
  EXPECT_EQ(handler_({.path = "/v1/retry"}).Wait({}).status, 405);
  std::string many = R"({"images":["a:1")";
  for (std::size_t i = 0; i < status::kMostRetries; i++) many += R"(,"a:1")";
  EXPECT_EQ(Ask(many + "]}").status, 400);
  EXPECT_TRUE(node_.retried().empty());
}

// /metrics of a node whose every text is a secret.

// The text of both listeners: names of credentials, registries' messages, digests, paths and kubelet's
// settings are planted.
std::string Metrics(Audience audience) {
  AnsweringNode node(sample::PlantedNode());
  node.metrics.CredentialsFound(FoundBy(Planted("provider")));
  return node.Answer(audience, {.path = "/metrics"}).body;
}

TEST(PublicMetrics, TellNothingThatIsPlanted) {
  const std::string open = Metrics(Audience::kPodNetwork);
  EXPECT_EQ(open.find(kPlanted), std::string::npos) << open.substr(open.find(kPlanted), 200);
  EXPECT_NE(open.find("prefetchd_ready 0"), std::string::npos) << open;
  EXPECT_NE(Metrics(Audience::kLocal).find(Planted("provider")), std::string::npos);
}

}  // namespace
}  // namespace prefetch::agent::endpoints_test
