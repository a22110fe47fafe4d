// `prefetchctl status --fleet`, `wait --fleet` and `audit --fleet` of agents that really run, each on a
// containerd of its own, behind the proxy of an API server.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cri/endpoint.h"
#include "cri/grpc_image_service.h"
#include "fakes/fake_api_server.h"
#include "rig/expect_has.h"
#include "rig/expect_ok.h"
#include "system/cluster.h"
#include "system/cluster_account.h"
#include "system/node.h"
#include "text_of.h"

namespace prefetch::system::fleet_test {
namespace {

using rig::ExpectHas;

using Words = std::vector<std::string>;

const rig::User kAnn{"ann", "right-Passw0rd"};
const rig::User kStale{"ann", "stale-Passw0rd"};
constexpr const char* kOpen = "open.example.test";
constexpr const char* kPrivate = "private.example.test";

// One node of the fleet, with both registries.
struct Member {
  explicit Member(const std::string& name) {
    node.RunsAgentBy({"env", "NODE_NAME=" + name});
    app = open->Push("team/app", "v1", {{1, 100'000}});
    closed = locked->Push("team/private", "v2", {{2, 100'000}});
    node.HasDockerConfig(kPrivate, kStale);
  }

  Node node;
  std::unique_ptr<Host> open = node.AddRegistry(kOpen, {});
  std::unique_ptr<Host> locked = node.AddRegistry(kPrivate, kAnn);
  std::string app, closed;
};

class Fleet : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"fleet-viewer.yaml", "audit-viewer.yaml"}) {
      EXPECT_OK(api_.LoadRbac(tests::TextOf(std::string(std::getenv("PREFETCH_EXAMPLES")) + "/" + name)));
    }
    one_.node.scratch().Write(
        "kubeconfig",
        api_.Kubeconfig(api_.AddToken("ci", {"prefetchd-fleet-viewers", "prefetchd-audit-viewers"})));
    one_.node.HasList({one_.app});
    two_.node.HasList({two_.app, two_.closed});
    Join("n1", one_.node);
    Join("n2", two_.node);
    // Its agent was there once, and is dead.
    AddNode("n3", "b");
    api_.ForwardPod("prefetchd/agent-n3:9477", 1);
  }

  void AddNode(const std::string& name, const std::string& pool) {
    api_.Put("nodes/" + name, R"({"metadata":{"labels":{"kubernetes.io/os":"linux","pool":")" + pool +
                                  R"("}},"status":{"conditions":[{"type":"Ready","status":"True"}]}})");
    api_.Put("pods/prefetchd/agent-" + name,
             R"({"metadata":{"labels":{"app.kubernetes.io/name":"prefetchd"}},"spec":{"nodeName":")" + name +
                 R"("},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"False"}]}})");
  }
  void Join(const std::string& name, Node& node) {
    node.StartAgent();
    AddNode(name, "a");
    const std::string url = node.NeighbourUrl();
    api_.ForwardPod("prefetchd/agent-" + name + ":9477",
                    static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
  }
  rig::Ran Ctl(int exit, Words words) {
    words.insert(words.end(), {"--fleet", "--kubeconfig", one_.node.scratch() / "kubeconfig"});
    rig::Ran ran = one_.node.Ctl(words);
    EXPECT_EQ(ran.exit, (rig::Exit{exit, 0})) << ran.out << ran.err;
    return ran;
  }
  std::string File(const std::string& name, const std::string& content) {
    one_.node.scratch().Write(name, content);
    return one_.node.scratch() / name;
  }

  base::SystemClock clock_;
  tests::FakeApiServer api_{clock_, tests::FakeApiServer::OverTls()};
  Member one_{"n1"}, two_{"n2"};
};

TEST_F(Fleet, OneIsReadyOneIsDeniedAnImageAndOneHasNoAgentAnyMore) {
  ASSERT_EQ(one_.node.Ctl({"wait", "--timeout", "60s"}).exit, rig::Exit{}) << one_.node.AgentLog();
  const std::string app = File("app.txt", one_.app + "\n");
  ASSERT_EQ(two_.node.Ctl({"wait", "--list", app, "--timeout", "60s"}).exit, rig::Exit{})
      << two_.node.AgentLog();
  ASSERT_EQ(two_.node.Ctl({"wait", "--fail-fast", "--timeout", "60s"}).exit, (rig::Exit{1, 0}))
      << two_.node.AgentLog();
  ExpectHas(Ctl(0, {"status"}).out,
            {"3 nodes   1 ready   1 failing   1 not heard\n", "denied       " + two_.closed,
             "on 1 of 3 nodes", "no detail    (the node itself)"});
  ExpectHas(Ctl(0, {"status", "-o", "json"}).out, {"\"node\": \"n1\"", "\"AccessDenied\""});

  // Two nodes have the image. The third one is not heard, and does not count as ready.
  ExpectHas(Ctl(0, {"wait", "--list", app, "--nodes", "pool=a", "--timeout", "30s"}).out,
            {"ready: 2 of 2 nodes ready"});
  ExpectHas(Ctl(0, {"wait", "--list", app, "--min-ready", "2", "--timeout", "30s"}).out, {"ready: 2 of 3"});
  ExpectHas(Ctl(3, {"wait", "--list", app, "--timeout", "2s"}).out,
            {"timed out after 2 s: 2 of 3 nodes ready, 1 with no detail", "not ready: n3"});
  const std::string closed = File("closed.txt", two_.closed + "\n");
  ExpectHas(Ctl(1, {"wait", "--list", closed, "--nodes", "pool=a", "--fail-fast", "--timeout", "30s"}).out,
            {"failed: 0 of 2 nodes ready", "denied", "not listed   " + two_.closed});

  // Its credentials come, and it is ready.
  two_.node.HasDockerConfig(kPrivate, kAnn);
  ASSERT_TRUE(two_.node.BecomesReady(seconds(60)));
  ExpectHas(Ctl(0, {"wait", "--nodes", "pool=a", "--timeout", "30s"}).out, {"ready: 2 of 2 nodes ready"});
}

// Tests `prefetchctl … --fleet` with the component fleet and without it. The agent runs as a pod with the
// shipped rights, on a real containerd, behind the proxy of an API server over TLS.

class FleetTokens : public testing::Test {
 protected:
  void SetUp() override {
    listed_ = host_->Push("team/app", "v1", {{1, 100'000}});
    unlisted_ = host_->Push("team/tool", "v9", {{2, 100'000}});
    node_.HasList({listed_});
  }
  void Start(Cluster& cluster, bool fleet_tokens) {
    node_.scratch().Write("agent.yaml",
                          std::string("apiVersion: prefetchd.dev/v1alpha1\n"
                                      "kind: AgentConfiguration\n"
                                      "limits: {diskHighPercent: 99, diskMinFreeBytes: 1000000}\n") +
                              (fleet_tokens ? "fleetTokens: true\n" : ""));
    node_.StartAgent();
    ASSERT_TRUE(node_.BecomesReady(seconds(60))) << node_.AgentLog();
    auto endpoint = cri::ParseEndpoint(node_.containerd().endpoint());
    ASSERT_OK(endpoint);
    const auto pods = cri::MakeImageService(*endpoint);
    ASSERT_TRUE(pods->PullImage(base::Call{}.Within(seconds(30)), {.image = unlisted_}).ok());
    ASSERT_TRUE(rig::Eventually(seconds(30), [&] { return !node_.Status().Unlisted().empty(); }));

    tests::FakeApiServer& api = cluster.api();
    api.Put("nodes/n1", R"({"metadata":{"uid":"uid-n1","labels":{"kubernetes.io/os":"linux"}},
      "status":{"nodeInfo":{"kubeletVersion":"v1.36.2"}}})");
    api.Put("pods/prefetchd/agent-n1",
            R"({"metadata":{"labels":{"app.kubernetes.io/name":"prefetchd"}},
                "spec":{"nodeName":"n1","serviceAccountName":"prefetchd"},"status":{"phase":"Running"}})");
    api.Put("serviceaccounts/prefetchd/prefetchd-fleet", R"({"metadata":{"uid":"fleet-uid"}})");
    const std::string url = node_.NeighbourUrl();
    api.ForwardPod("prefetchd/agent-n1:9477",
                   static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
    const std::string token = api.AddToken("ci", {"prefetchd-fleet-viewers", "prefetchd-fleet-operators"});
    node_.scratch().Write("kubeconfig", api.Kubeconfig(token, "insecure-skip-tls-verify: true"));
  }
  rig::Ran Ctl(int exit, Words words) {
    words.insert(words.end(), {"--fleet", "--kubeconfig", node_.scratch() / "kubeconfig"});
    rig::Ran ran = node_.Ctl(words);
    EXPECT_EQ(ran.exit, (rig::Exit{exit, 0})) << ran.out << ran.err;
    return ran;
  }
  static bool Has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  std::string FleetMetric(const std::string& result) {
    const std::string metrics = node_.Get("/metrics").body;
    const std::string name = "prefetchd_fleet_callers_total{result=\"" + result + "\"} ";
    const std::size_t at = metrics.find(name);
    if (at == std::string::npos) return "";
    return metrics.substr(at + name.size(), metrics.find('\n', at) - at - name.size());
  }

  Node node_;
  std::unique_ptr<Host> host_ = node_.AddRegistry("acme.example.test:5000", {});
  std::string listed_, unlisted_;
};

TEST_F(FleetTokens, OpenWhatIsHiddenFromStrangers) {
  Cluster cluster(node_, {"fleet"});
  Start(cluster, true);
  rig::Ran ran = Ctl(0, {"status"});
  EXPECT_FALSE(Has(ran.out, "hidden from")) << ran.out;
  ran = Ctl(1, {"audit"});
  EXPECT_TRUE(Has(ran.out, unlisted_)) << ran.out;
  Ctl(0, {"wait", "--timeout", "30s"});
  EXPECT_NE(FleetMetric("Admitted"), "");
  // Nobody keeps a token where others read it.
  EXPECT_FALSE(Has(node_.AgentLog() + ran.out + ran.err, "eyJ"));

  // Without the header, and with a token that is not the fleet's.
  auto over_tcp = [&](const std::string& header) {
    auto answer = rig::RunProgram(
        {{"curl", "--silent", "--max-time", "10", "--header", header, node_.NeighbourUrl() + "/v1/status"},
         {}},
        seconds(20));
    EXPECT_OK(answer);
    return answer ? answer->out : "";
  };
  EXPECT_TRUE(Has(over_tcp("X-Nothing: 1"), "\"hidden\":["));
  EXPECT_FALSE(Has(over_tcp("X-Nothing: 1"), unlisted_));
  const std::string pod = cluster.api().AddPodToken({"ci", "runner", "n1", "job-1"}, "prefetchd");
  const std::string refused = over_tcp("Prefetchd-Authorization: Bearer " + pod);
  EXPECT_FALSE(Has(refused, listed_)) << refused;
  EXPECT_EQ(FleetMetric("NotAdmitted"), "1");
}

TEST_F(FleetTokens, RequestRetries) {
  Cluster cluster(node_, {"fleet"});
  Start(cluster, true);
  const std::string late = "acme.example.test:5000/team/late:v1";
  node_.HasList({listed_, late});
  ASSERT_TRUE(rig::Eventually(seconds(30), [&] { return node_.StatusOf(late).reason.text() == "NotFound"; }))
      << node_.AgentLog();
  EXPECT_TRUE(
      Has(Ctl(4, {"retry", late}).err,
          "you may not create pods/proxy of its pod (deploy/examples/fleet-operator.yaml grants it)"));
  ASSERT_TRUE(cluster.api().LoadRbac(Example("fleet-operator.yaml")).ok());
  EXPECT_EQ(host_->Push("team/late", "v1", {{3, 100'000}}), late);
  EXPECT_EQ(Ctl(0, {"retry", late}).out, "retry requested on 1 node: " + late + "\n");
  EXPECT_TRUE(rig::Eventually(seconds(30), [&] { return node_.Has(late); })) << node_.AgentLog();
  const rig::Ran here = node_.Ctl({"retry"});
  EXPECT_EQ(here.out, "nothing to retry: no image of this node waits for its next attempt\n") << here.err;
}

TEST_F(FleetTokens, AreNotNeededForWhatIsPublic) {
  Cluster cluster(node_, {"fleet"});
  Start(cluster, false);
  rig::Ran ran = Ctl(0, {"status"});
  EXPECT_TRUE(Has(ran.out, "1 node   1 ready")) << ran.out;
  EXPECT_TRUE(Has(ran.out, "hidden from callers without a token")) << ran.out;
  ran = Ctl(4, {"audit"});
  EXPECT_TRUE(Has(ran.err, "component fleet")) << ran.err;
  EXPECT_FALSE(Has(ran.out + ran.err, unlisted_));
  node_.scratch().Write("list.txt", listed_ + "\n");
  Ctl(0, {"wait", "--list", node_.scratch() / "list.txt", "--timeout", "30s"});
}

}  // namespace
}  // namespace prefetch::system::fleet_test
