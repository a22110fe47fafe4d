// Tests `prefetchctl … --fleet` with the component fleet and without it. The agent runs as a pod with the
// shipped rights, on a real containerd, behind the proxy of an API server over TLS.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "cri/endpoint.h"
#include "cri/image_service.h"
#include "fakes/fake_api_server.h"
#include "must.h"
#include "rig/expect_ok.h"
#include "system/cluster.h"
#include "system/cluster_account.h"
#include "system/node.h"

namespace prefetch::system::fleet_test {
namespace {

using Words = std::vector<std::string>;

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
    const rig::Command command{
        {"curl", "--silent", "--max-time", "10", "--header", header, node_.NeighbourUrl() + "/v1/status"},
        {}};
    return tests::Must(rig::RunProgram(command, seconds(20)))->out;
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
