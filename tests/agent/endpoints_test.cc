#include "agent/answers/endpoints.h"

#include <gtest/gtest.h>

#include "agent/answering_node.h"
#include "status/sample.h"

namespace prefetch::agent::endpoints_test {
namespace {

using std::chrono::seconds;
using Query = std::vector<std::pair<std::string, std::string>>;

class World : public AnsweringNode {
 public:
  explicit World(plan::Snapshot snapshot = sample::PeacefulNode()) : AnsweringNode(std::move(snapshot)) {
    runtime().Preload(tests::MakeImage("docker.io/library/busybox:1.36", 1000));
  }

  http::ServerResponse Ask(Audience audience, std::string path, Query query = {},
                           http::Method method = http::Method::kGet) const {
    http::ServerRequest request{.method = method, .path = std::move(path), .query = std::move(query)};
    return Answer(audience, request);
  }
  http::ServerResponse Post(Audience audience, std::string path, std::string body) const {
    return Answer(audience,
                  {.method = http::Method::kPost, .path = std::move(path), .body = std::move(body)});
  }
};

// DNS rebinding: a page makes its own name stand for the agent's address.
TEST(Endpoints, APageOfAStrangerReadsNothing) {
  World world;
  const auto status = [&](const std::string& path, const http::Headers& headers,
                          Audience audience = Audience::kPodNetwork) {
    http::ServerRequest request{.path = path, .headers = headers};
    if (path == "/v1/check") {
      request.method = http::Method::kPost;
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

enum class On { kPeacefulNode, kTroubledNode };

struct Row {
  std::string name;
  On node;
  std::string path;
  Query query;
  int neighbour;  // status
  int local;
  std::string says;  // somewhere in the local answer's body
};

class EndpointsTest : public testing::TestWithParam<Row> {};

TEST_P(EndpointsTest, Row) {
  const Row& row = GetParam();
  World world(row.node == On::kPeacefulNode ? sample::PeacefulNode() : sample::TroubledNode());
  http::ServerResponse neighbour = world.Ask(Audience::kPodNetwork, row.path, row.query);
  http::ServerResponse local = world.Ask(Audience::kLocal, row.path, row.query);
  EXPECT_EQ(neighbour.status, row.neighbour) << neighbour.body;
  EXPECT_EQ(local.status, row.local) << local.body;
  EXPECT_NE(local.body.find(row.says), std::string::npos) << local.body;
}

const char kHash[] = "sha256:3f9c21aa00000000000000000000000000000000000000000000000000000000";

INSTANTIATE_TEST_SUITE_P(
    Endpoints, EndpointsTest,
    testing::Values(
        Row{"Livez", On::kPeacefulNode, "/livez", {}, 200, 200, "ok\n"},
        Row{"LivezOfANodeThatIsNotReady", On::kTroubledNode, "/livez", {}, 200, 200, "ok\n"},
        Row{"Readyz", On::kPeacefulNode, "/readyz", {}, 200, 200, kHash},
        Row{"ReadyzNot", On::kTroubledNode, "/readyz", {}, 503, 503, "not ready"},
        Row{"ReadyzVerbose", On::kPeacefulNode, "/readyz", {{"verbose", ""}}, 200, 200, "runner:v3"},
        Row{"ReadyzVerboseNot", On::kTroubledNode, "/readyz", {{"verbose", "1"}}, 503, 503, "AccessDenied"},
        Row{"ReadyzPolicy", On::kPeacefulNode, "/readyz", {{"policy", "Never"}}, 200, 200},
        Row{"ReadyzPolicyUnknown",
            On::kPeacefulNode,
            "/readyz",
            {{"policy", "never"}},
            400,
            400,
            "Never, IfNotPresent or Always"},
        Row{"ReadyzPolicyEmpty", On::kPeacefulNode, "/readyz", {{"policy", ""}}, 400, 400},
        Row{"ReadyzHash", On::kPeacefulNode, "/readyz", {{"hash", kHash}}, 200, 200},
        Row{"ReadyzAnotherHash", On::kPeacefulNode, "/readyz", {{"hash", "sha256:00"}}, 503, 503},
        Row{"ReadyzSource", On::kPeacefulNode, "/readyz", {{"source", "images.yaml"}}, 200, 200},
        Row{"ReadyzNoSuchSource", On::kPeacefulNode, "/readyz", {{"source", "other.yaml"}}, 503, 503},
        Row{"ReadyzUnknownParameter",
            On::kPeacefulNode,
            "/readyz",
            {{"hsah", "sha256:00"}},
            400,
            400,
            "unknown parameter hsah"},
        Row{"Status", On::kTroubledNode, "/v1/status", {}, 200, 200, "\"reason\":"},
        Row{"Metrics", On::kTroubledNode, "/metrics", {}, 200, 200, "\nprefetchd_ready 0\n"},
        Row{"MetricsWithAScrapersParameters",
            On::kPeacefulNode,
            "/metrics",
            {{"format", "prometheus"}},
            200,
            200,
            "\nprefetchd_ready 1\n"},
        Row{"Image", On::kPeacefulNode, "/v1/images/ghcr.io/acme/runner:v3", {}, 404, 200, "runner:v3"},
        Row{"ImageByShortName", On::kPeacefulNode, "/v1/images/busybox:1.36", {}, 404, 200, "busybox"},
        Row{"ImageNotOnTheList", On::kPeacefulNode, "/v1/images/busybox:2", {}, 404, 404, "\"listed\":false"},
        Row{"CheckIsAsked", On::kPeacefulNode, "/v1/check", {}, 405, 405},
        Row{"ImageNoReference", On::kPeacefulNode, "/v1/images/UPPER", {}, 404, 400, "UPPER"},
        Row{"ImageNoName", On::kPeacefulNode, "/v1/images/", {}, 404, 404},
        Row{"Images", On::kPeacefulNode, "/v1/images", {}, 404, 404},
        Row{"Root", On::kPeacefulNode, "/", {}, 404, 404},
        Row{"BelowAnEndpoint", On::kPeacefulNode, "/livez/", {}, 404, 404},
        Row{"AnothersPath", On::kPeacefulNode, "/healthz", {}, 404, 404}),
    [](const auto& row) { return row.param.name; });

// What only the local socket shows, endpoint by endpoint.
struct Shown {
  std::string name;
  std::string path;
  Query query;
  std::string local_only;  // somewhere in the local answer, and nowhere in the other
  std::string both;
};
class ShownTest : public testing::TestWithParam<Shown> {};

TEST_P(ShownTest, Row) {
  const Shown& row = GetParam();
  plan::Snapshot node = sample::TroubledNode();
  node.readiness.reason = plan::Reason::kCredentialsInvalid;
  node.readiness.message = "the credential provider configuration cannot be used: acme.yaml";
  node.problems = {"provider acme-login cannot be used"};
  node.unlisted = std::make_shared<const plan::Unlisted>(
      plan::Unlisted{.since = sample::At(-9), .images = {{.image = "tenant.example/app:v1"}}, .left_out = 0});
  World world(std::move(node));
  world.metrics.CredentialsFound({.providers = {{.name = "acme-login",
                                                 .matched = true,
                                                 .outcome = credentials::ProviderOutcome::kOk,
                                                 .ran_for = seconds(1)}}});
  const std::string neighbour = world.Ask(Audience::kPodNetwork, row.path, row.query).body;
  const std::string local = world.Ask(Audience::kLocal, row.path, row.query).body;
  EXPECT_NE(local.find(row.local_only), std::string::npos) << local;
  EXPECT_EQ(neighbour.find(row.local_only), std::string::npos) << neighbour;
  EXPECT_NE(local.find(row.both), std::string::npos) << local;
  EXPECT_NE(neighbour.find(row.both), std::string::npos) << neighbour;
}

INSTANTIATE_TEST_SUITE_P(
    Endpoints, ShownTest,
    testing::Values(
        Shown{"StatusMessages", "/v1/status", {}, "\"message\":", "\"reason\":\"AccessDenied\""},
        Shown{"StatusUnlisted", "/v1/status", {}, "tenant.example", "\"phase\":"},
        Shown{"StatusCredentials", "/v1/status", {}, "\"credential\":", "\"pull\":"},
        Shown{"Readyz", "/readyz", {}, "acme.yaml", "not ready: "},
        Shown{"ReadyzOfASource", "/readyz", {{"source", "images.yaml"}}, "acme.yaml", "not ready: "},
        Shown{"ReadyzVerbose", "/readyz", {{"verbose", ""}}, "acme-login", "AccessDenied"},
        Shown{"ReadyzVerboseMessages", "/readyz", {{"verbose", ""}}, "AccessDenied: ", "[-] "},
        Shown{"Metrics",
              "/metrics",
              {},
              "provider=\"acme-login\"",
              "prefetchd_credential_provider_duration_seconds_count{"}),
    [](const auto& row) { return row.param.name; });

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

class ContentTypeTest : public testing::TestWithParam<Type> {};

TEST_P(ContentTypeTest, Row) {
  EXPECT_EQ(World().Ask(Audience::kLocal, GetParam().path).content_type, GetParam().type);
}

INSTANTIATE_TEST_SUITE_P(Endpoints, ContentTypeTest,
                         testing::Values(Type{"Livez", "/livez", "text/plain; charset=utf-8"},
                                         Type{"Readyz", "/readyz", "text/plain; charset=utf-8"},
                                         Type{"Status", "/v1/status", "application/json"},
                                         Type{"Image", "/v1/images/busybox:1.36", "application/json"},
                                         Type{"Metrics", "/metrics",
                                              "text/plain; version=0.0.4; charset=utf-8"}),
                         [](const auto& row) { return row.param.name; });

using PathAndMethod = std::tuple<const char*, http::Method>;
class MethodTest : public testing::TestWithParam<PathAndMethod> {};

TEST_P(MethodTest, IsNotAllowed) {
  auto [path, method] = GetParam();
  World world;
  http::ServerResponse answer = world.Ask(Audience::kLocal, path, {}, method);
  EXPECT_EQ(answer.status, 405);
  EXPECT_TRUE(answer.headers.Has("Allow"));
}

INSTANTIATE_TEST_SUITE_P(Endpoints, MethodTest,
                         testing::Combine(testing::Values("/livez", "/readyz", "/v1/status", "/metrics",
                                                          "/v1/images/busybox:1.36"),
                                          testing::Values(http::Method::kPost, http::Method::kPut,
                                                          http::Method::kPatch, http::Method::kDelete,
                                                          http::Method::kOptions)));

// The server leaves out the body; for us it is a GET, so a prober may use either.
TEST(Endpoints, HeadIsAGet) {
  EXPECT_EQ(http::ParseMethod("HEAD"), http::Method::kGet);
}

// A neighbour is not even told that the path exists.
TEST(Endpoints, NeighboursPostToAnImageIsNotFound) {
  EXPECT_EQ(World().Ask(Audience::kPodNetwork, "/v1/images/busybox:1.36", {}, http::Method::kPost).status,
            404);
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

TEST(Endpoints, NeighboursHearNothingOfUnlistedImages) {
  auto result = status::ParseCheckResult(World().Post(Audience::kPodNetwork, "/v1/check", kChecks).body);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->answers[0].ok);
  EXPECT_EQ(result->answers[1].reason, "NotListed");
  EXPECT_EQ(result->answers[1].result.text(), "Unknown");
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
  http::ServerRequest request{
      .method = http::Method::kPost, .path = "/v1/check", .body = R"([{"image":"a:v1"}])"};
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
  http::ServerRequest request{.method = http::Method::kPost,
                              .path = "/v1/check",
                              .body = R"([{"image":"a:v1"}])",
                              .peer = "10.0.0.66"};
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

}  // namespace
}  // namespace prefetch::agent::endpoints_test
