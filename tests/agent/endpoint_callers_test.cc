// The answer to each kind of caller: endpoint x transport x caller.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "agent/answering_node.h"
#include "agent/reviewing_api.h"
#include "status/sample.h"

namespace prefetch::agent::endpoint_callers_test {
namespace {

// Who asks, and by which header.
enum class Who {
  kNobody,
  kFleet,          // a fleet token in Prefetchd-Authorization
  kFleetByOther,   // the same in Authorization, as nobody can send it through pods/proxy
  kPod,            // a pod's token in Authorization
  kPodByFleets,    // the same in Prefetchd-Authorization
  kFleetForOther,  // a token of that account for the API server
  kGarbage,        // in Prefetchd-Authorization
};

constexpr const char* kCheck = R"([{"image":"quay.io/acme/private:v2","policy":"Never"}])";
// In each answer in full, and in no other; of /metrics it is the second.
constexpr const char* kMessage = "401 Unauthorized from quay.io";
constexpr const char* kProvider = R"(provider="acme-login")";

class World {
 public:
  World(bool preflight, bool fleet) {
    node_.metrics.CredentialsFound({.providers = {{.name = "acme-login",
                                                   .matched = true,
                                                   .outcome = credentials::ProviderOutcome::kOk,
                                                   .ran_for = std::chrono::seconds(1)}}});
    plan::CallerRules rules;
    if (preflight) rules.namespaces = {"*"};
    if (preflight || fleet) {
      callers_.emplace(rules, fleet, plan::AgentLocation{"n1", "prefetchd"}, api_.api, node_.metrics,
                       node_.clock);
    }
  }

  http::ServerResponse Ask(Audience audience, const std::string& path, Who who) {
    http::ServerRequest request{.path = path, .headers = HeadersOf(who)};
    if (path == "/readyz") request.query = {{"verbose", ""}};
    if (path == "/v1/check" || path == "/v1/retry") {
      request.method = http::Method::kPost;
      if (path == "/v1/check") request.body = kCheck;
    }
    return node_.Answer(audience, request, callers_ ? &*callers_ : nullptr);
  }
  tests::FakeApiServer& server() { return api_.server; }

 private:
  http::Headers HeadersOf(Who who) {
    const std::string fleet =
        "Bearer " + server().AddPodToken({"prefetchd", "prefetchd-fleet", "", ""}, "prefetchd");
    const std::string pod = "Bearer " + server().AddPodToken({"ci", "runner", "n1", "job"}, "prefetchd");
    switch (who) {
      case Who::kNobody:
        return {};
      case Who::kFleet:
        return {{"Prefetchd-Authorization", fleet}};
      case Who::kFleetByOther:
        return {{"Authorization", fleet}};
      case Who::kPod:
        return {{"Authorization", pod}};
      case Who::kPodByFleets:
        return {{"Prefetchd-Authorization", pod}};
      case Who::kFleetForOther:
        return {{"Prefetchd-Authorization",
                 "Bearer " + server().AddPodToken({"prefetchd", "prefetchd-fleet", "", ""}, "kubernetes")}};
      case Who::kGarbage:
        return {{"Prefetchd-Authorization", "Bearer garbage"}};
    }
    return {};
  }

  AnsweringNode node_{sample::TroubledNode()};
  ReviewingApi api_{node_.clock};
  std::optional<ClientAuthenticator> callers_;
};

constexpr Audience kTcp = Audience::kPodNetwork, kLocal = Audience::kLocal;

struct Row {
  std::string name;
  std::string path;
  Audience audience;
  Who who;
  int status;
  bool full;  // the answer has messages
  bool preflight = true, fleet = true;
};

class AnsweredTest : public testing::TestWithParam<Row> {};

TEST_P(AnsweredTest, Row) {
  const Row& row = GetParam();
  World world(row.preflight, row.fleet);
  const http::ServerResponse answer = world.Ask(row.audience, row.path, row.who);
  EXPECT_EQ(answer.status, row.status) << answer.body;
  const bool metrics = row.path == "/metrics";
  EXPECT_EQ(answer.body.find(kMessage) != std::string::npos, row.full && !metrics) << answer.body;
  EXPECT_EQ(answer.body.find(kProvider) != std::string::npos, row.full && metrics) << answer.body;
  EXPECT_EQ(answer.body.find("eyJ"), std::string::npos) << answer.body;
}

INSTANTIATE_TEST_SUITE_P(
    Endpoints, AnsweredTest,
    testing::Values(Row{"StatusTcpNobody", "/v1/status", kTcp, Who::kNobody, 200, false},
                    Row{"StatusTcpFleet", "/v1/status", kTcp, Who::kFleet, 200, true},
                    Row{"StatusTcpFleetWithoutPreflight", "/v1/status", kTcp, Who::kFleet, 200, true, false},
                    Row{"StatusTcpFleetTurnedOff", "/v1/status", kTcp, Who::kFleet, 403, false, true, false},
                    Row{"StatusTcpFleetNothingOn", "/v1/status", kTcp, Who::kFleet, 403, false, false, false},
                    Row{"StatusTcpFleetByOther", "/v1/status", kTcp, Who::kFleetByOther, 200, false},
                    Row{"StatusTcpPod", "/v1/status", kTcp, Who::kPod, 200, false},
                    Row{"StatusTcpPodByFleets", "/v1/status", kTcp, Who::kPodByFleets, 403, false},
                    Row{"StatusTcpForOther", "/v1/status", kTcp, Who::kFleetForOther, 401, false},
                    Row{"StatusTcpGarbage", "/v1/status", kTcp, Who::kGarbage, 401, false},
                    Row{"StatusLocalNobody", "/v1/status", kLocal, Who::kNobody, 200, true},
                    Row{"StatusLocalGarbage", "/v1/status", kLocal, Who::kGarbage, 200, true},
                    Row{"ReadyzTcpNobody", "/readyz", kTcp, Who::kNobody, 503, false},
                    Row{"ReadyzTcpFleet", "/readyz", kTcp, Who::kFleet, 503, false},
                    Row{"ReadyzLocalNobody", "/readyz", kLocal, Who::kNobody, 503, true},
                    Row{"MetricsTcpNobody", "/metrics", kTcp, Who::kNobody, 200, false},
                    Row{"MetricsLocalNobody", "/metrics", kLocal, Who::kNobody, 200, true},
                    Row{"MetricsTcpFleet", "/metrics", kTcp, Who::kFleet, 200, false},
                    Row{"LivezTcpFleet", "/livez", kTcp, Who::kFleet, 200, false},
                    Row{"CheckTcpNobody", "/v1/check", kTcp, Who::kNobody, 200, false},
                    Row{"CheckTcpFleet", "/v1/check", kTcp, Who::kFleet, 403, false},
                    Row{"CheckTcpFleetByOther", "/v1/check", kTcp, Who::kFleetByOther, 401, false},
                    Row{"CheckTcpPod", "/v1/check", kTcp, Who::kPod, 200, false},
                    Row{"CheckTcpPodTurnedOff", "/v1/check", kTcp, Who::kPod, 403, false, false},
                    Row{"CheckTcpPodByFleets", "/v1/check", kTcp, Who::kPodByFleets, 403, false},
                    Row{"CheckLocalNobody", "/v1/check", kLocal, Who::kNobody, 200, true},
                    Row{"RetryLocalNobody", "/v1/retry", kLocal, Who::kNobody, 200, false},
                    Row{"RetryTcpNobody", "/v1/retry", kTcp, Who::kNobody, 403, false},
                    Row{"RetryTcpFleet", "/v1/retry", kTcp, Who::kFleet, 200, false},
                    Row{"RetryTcpFleetTurnedOff", "/v1/retry", kTcp, Who::kFleet, 403, false, true, false},
                    Row{"RetryTcpFleetByOther", "/v1/retry", kTcp, Who::kFleetByOther, 403, false},
                    Row{"RetryTcpPod", "/v1/retry", kTcp, Who::kPod, 403, false},
                    Row{"RetryTcpPodByFleets", "/v1/retry", kTcp, Who::kPodByFleets, 403, false},
                    Row{"RetryTcpForOther", "/v1/retry", kTcp, Who::kFleetForOther, 401, false},
                    Row{"RetryTcpGarbage", "/v1/retry", kTcp, Who::kGarbage, 401, false},
                    Row{"ImageLocalNobody", "/v1/images/quay.io/acme/private:v2", kLocal, Who::kNobody, 200,
                        true},
                    Row{"ImageTcpFleet", "/v1/images/quay.io/acme/private:v2", kTcp, Who::kFleet, 404, false},
                    Row{"ImageTcpPod", "/v1/images/quay.io/acme/private:v2", kTcp, Who::kPod, 404, false}),
    [](const auto& row) { return row.param.name; });

TEST(FleetStatus, IsHeldBackWhileTheApiServerIsAway) {
  World world(false, true);
  world.server().GoAway();
  const http::ServerResponse away = world.Ask(kTcp, "/v1/status", Who::kFleet);
  EXPECT_EQ(away.status, 503);
  EXPECT_TRUE(away.headers.Has("Retry-After"));
  EXPECT_EQ(away.body.find(kMessage), std::string::npos) << away.body;
  EXPECT_EQ(world.Ask(kTcp, "/v1/status", Who::kNobody).status, 200);
}

}  // namespace
}  // namespace prefetch::agent::endpoint_callers_test
