// `prefetchctl uninstall --nodes` as built, against an API server on loopback that grants what
// deploy/examples/node-cleaner.yaml grants.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>

#include "doc/write.h"
#include "fakes/rbac.h"
#include "system/cluster_account.h"

namespace prefetch::system::uninstall_command_test {
namespace {

using std::chrono::seconds;

// A node of which agents have said all that they ever say, and others their own.
constexpr const char* kTold = R"({"metadata":{"labels":{"kubernetes.io/os":"linux","pool":"ci",
   "prefetchd.dev/prefetchd":"ready","prefetchd.dev/team-a":"notready","image-prefetcher.stackrox.io/x":"failed"}},
  "spec":{"taints":[{"key":"dedicated","value":"ci","effect":"NoSchedule"},
                    {"key":"prefetchd.dev/not-ready","effect":"NoSchedule"}]},
  "status":{"conditions":[{"type":"Ready","status":"True"},{"type":"ImagesPrefetched","status":"False"}]}})";
constexpr const char* kNotShown = R"({"metadata":{"labels":{"kubernetes.io/os":"linux"}},
  "status":{"conditions":[{"type":"Ready","status":"True"}]}})";

class UninstallCommand : public ClusterAccount {
 protected:
  UninstallCommand() : ClusterAccount("node-cleaner.yaml", "prefetchd-node-cleaners") {}

  rig::Ran Run(int exit, std::vector<std::string> words) const {
    words.insert(words.begin(), "uninstall");
    words.push_back(kubeconfig());
    return RunToEnd(exit, Prefetchctl(std::move(words)), seconds(120));
  }
  std::string Stored(const std::string& node) const {
    auto object = server_.Get("nodes/" + node);
    return object ? doc::WriteJson(*object) : "";
  }
  bool Has(const std::string& node, const std::string& part) const {
    return Stored(node).find(part) != std::string::npos;
  }
  bool IsClear(const std::string& node) const {
    return !Has(node, "prefetchd.dev/") && !Has(node, "ImagesPrefetched");
  }
};

TEST_F(UninstallCommand, LeavesNothingOfOursAndAllOfTheirs) {
  server_.Put("nodes/n1", kTold);
  server_.Put("nodes/n2", kNotShown);
  std::string before = Stored("n2");
  rig::Ran ran = Run(0, {"--nodes"});
  EXPECT_TRUE(IsClear("n1")) << Stored("n1");
  for (const char* part :
       {"\"pool\":\"ci\"", "\"dedicated\"", "\"type\":\"Ready\"", "image-prefetcher.stackrox.io/x"}) {
    EXPECT_TRUE(Has("n1", part)) << part;
  }
  EXPECT_EQ(Stored("n2"), before) << "what had nothing is not written to";
  EXPECT_EQ(ran.out,
            "n1: cleared label prefetchd.dev/prefetchd, label prefetchd.dev/team-a, condition "
            "ImagesPrefetched, taint "
            "prefetchd.dev/not-ready\ncleared 1 node; 1 of 2 nodes had nothing of ours\n");
  EXPECT_EQ(Run(0, {"--nodes"}).out, "cleared 0 nodes; 2 of 2 nodes had nothing of ours\n");
}

TEST_F(UninstallCommand, ASignalHasItsOwnExitCode) {
  server_.Put("nodes/n1", kTold);
  server_.SetLatency(seconds(2));
  rig::Process clearing;
  ASSERT_OK(clearing.Start(Prefetchctl({"uninstall", "--nodes", kubeconfig()}), dir_ / "log"));
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return !server_.Requests().empty(); }));
  clearing.Signal(SIGINT);
  EXPECT_EQ(clearing.Wait(seconds(20)), (rig::Exit{130, 0}));
}

TEST_F(UninstallCommand, ADryRunOnlyTells) {
  server_.Put("nodes/n1", kTold);
  std::string before = Stored("n1");
  EXPECT_EQ(Run(0, {"--nodes", "--dry-run"}).out,
            "n1: would clear label prefetchd.dev/prefetchd, label prefetchd.dev/team-a, condition "
            "ImagesPrefetched, taint "
            "prefetchd.dev/not-ready\nwould clear 1 node of 1; nothing was changed\n");
  EXPECT_EQ(Stored("n1"), before);
}

TEST_F(UninstallCommand, AnInstanceTakesItsLabelOnly) {
  server_.Put("nodes/n1", kTold);
  Run(0, {"--nodes", "--instance", "team-a", "--label", "image-prefetcher.stackrox.io/x"});
  EXPECT_FALSE(Has("n1", "prefetchd.dev/team-a"));
  EXPECT_FALSE(Has("n1", "image-prefetcher.stackrox.io"));
  EXPECT_TRUE(Has("n1", "prefetchd.dev/prefetchd"));
  EXPECT_TRUE(Has("n1", "ImagesPrefetched"));
  EXPECT_TRUE(Has("n1", "prefetchd.dev/not-ready"));
}

TEST_F(UninstallCommand, OnlySelectedNodes) {
  server_.Put("nodes/n1", kTold);
  server_.Put("nodes/n2", R"({"metadata":{"labels":{"prefetchd.dev/prefetchd":"ready","pool":"prod"}}})");
  Run(0, {"--nodes", "--selector", "pool=ci"});
  EXPECT_TRUE(IsClear("n1"));
  EXPECT_TRUE(Has("n2", "prefetchd.dev/prefetchd"));
}

TEST_F(UninstallCommand, ManyNodesOnSeveralPagesThroughAServerInTrouble) {
  for (int i = 0; i < 600; i++) server_.Put("nodes/n" + std::to_string(i), kTold);
  server_.Fail({.status = 503, .times = 2});
  server_.Fail({.status = 429, .retry_after = "1", .times = 1});
  rig::Ran ran = Run(0, {"--nodes"});
  for (int i = 0; i < 600; i++) EXPECT_TRUE(IsClear("n" + std::to_string(i))) << i;
  EXPECT_NE(ran.out.find("cleared 600 nodes; 0 of 600 nodes had nothing of ours\n"), std::string::npos);
}

TEST_F(UninstallCommand, AListThatGrewTooOldIsBegunAgain) {
  for (int i = 0; i < 300; i++) server_.Put("nodes/n" + std::to_string(i), kTold);
  std::atomic<int> lists{0};
  server_.SetWatcher([&](const std::string& request) {
    if (request == "GET /api/v1/nodes" && lists++ == 1) {
      server_.Put("nodes/late", kTold);
      server_.ExpireContinueTokens();
    }
  });
  Run(0, {"--nodes"});
  EXPECT_TRUE(IsClear("n0"));
  EXPECT_TRUE(IsClear("late"));
}

TEST_F(UninstallCommand, AnotherOwnersTaintAtTheSameMomentIsKept) {
  server_.Put("nodes/n1", kTold);
  std::atomic<int> patches{0};
  server_.SetWatcher([&](const std::string& request) {
    if (request != "PATCH /api/v1/nodes/n1" || patches++ != 0) return;
    std::string told = kTold;
    std::string ours = R"({"key":"prefetchd.dev/not-ready","effect":"NoSchedule"})";
    told.replace(told.find(ours), ours.size(),
                 ours + R"(,{"key":"karpenter.sh/disrupted","effect":"NoSchedule"})");
    server_.Put("nodes/n1", told);
  });
  Run(0, {"--nodes"});
  EXPECT_TRUE(IsClear("n1")) << Stored("n1");
  EXPECT_TRUE(Has("n1", "karpenter.sh/disrupted"));
  EXPECT_TRUE(Has("n1", "dedicated"));
}

TEST_F(UninstallCommand, ANodeThatGoesAwayMeanwhileIsNoFailure) {
  server_.Put("nodes/n1", kTold);
  std::atomic<int> seen{0};
  server_.SetWatcher([&](const std::string& request) {
    if (request == "GET /api/v1/nodes/n1" && seen++ == 0) server_.Delete("nodes/n1");
  });
  Run(0, {"--nodes"});
}

TEST_F(UninstallCommand, AMissingRightIsSaidForEachNodeAndTheExitCodeTells) {
  for (int i = 0; i < 12; i++) server_.Put("nodes/n" + std::to_string(i), kTold);
  EXPECT_OK(server_.LoadRbac(R"(
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: viewer}
rules: [{apiGroups: [""], resources: [nodes], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: viewer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: viewer}
subjects: [{kind: Group, name: viewers, apiGroup: rbac.authorization.k8s.io}]
)"));
  WriteKubeconfig(server_.AddToken("viewer", {"viewers"}));
  rig::Ran ran = Run(1, {"--nodes"});
  EXPECT_NE(ran.err.find("patch nodes \"n"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("… and 2 nodes more"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("12 nodes are not cleared; run it again"), std::string::npos) << ran.err;
  WriteKubeconfig(server_.AddToken("nobody"));
  EXPECT_NE(Run(4, {"--nodes"}).err.find("list nodes"), std::string::npos);
}

// Each right of the example is needed.
class MissingRight : public UninstallCommand,
                     public testing::WithParamInterface<std::pair<const char*, const char*>> {
 protected:
  void SetUp() override {
    auto [verb, resource] = GetParam();
    EXPECT_OK(server_.LoadRbac(tests::WithoutRight(Example("node-cleaner.yaml"), verb, resource)));
    WriteKubeconfig(server_.AddToken("somebody", {"prefetchd-node-cleaners"}));
  }
};
TEST_P(MissingRight, IsNamed) {
  auto [verb, resource] = GetParam();
  server_.Put("nodes/n1", kTold);
  std::string err = Run(std::string(verb) == "list" ? 4 : 1, {"--nodes"}).err;
  EXPECT_NE(err.find(std::string(verb) + " " + resource), std::string::npos) << err;
}
INSTANTIATE_TEST_SUITE_P(Example, MissingRight,
                         testing::Values(std::pair("list", "nodes"), std::pair("get", "nodes"),
                                         std::pair("patch", "nodes"), std::pair("patch", "nodes/status")),
                         [](const auto& row) {
                           std::string name = std::string(row.param.first) + row.param.second;
                           std::erase(name, '/');
                           return name;
                         });

TEST_F(UninstallCommand, ALabelOfAnotherPrefixGoesWhereItIsNamed) {
  server_.Put("nodes/n1", kTold);
  Run(0, {"--nodes", "--label", "image-prefetcher.stackrox.io/x"});
  EXPECT_TRUE(IsClear("n1")) << Stored("n1");
  EXPECT_FALSE(Has("n1", "image-prefetcher.stackrox.io"));
}

TEST_F(UninstallCommand, NodesHasToBeSaid) {
  EXPECT_NE(Run(2, {}).err.find("--nodes is required"), std::string::npos);
}

}  // namespace
}  // namespace prefetch::system::uninstall_command_test
