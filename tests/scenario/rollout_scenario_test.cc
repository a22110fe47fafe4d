// Lists that are rolled out by the DaemonSet as it is shipped: each node a whole agent, replaced as
// Kubernetes would replace it.
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "deploy/generate.h"
#include "deploy/kustomization.h"
#include "doc/node.h"
#include "doc/write.h"
#include "fakes/fake_daemon_set.h"
#include "scenario/touch_scenario.h"

namespace prefetch::tests::rollout_scenario_test {
namespace {

using kubelet::VerificationPolicy;
using plan::Reason;

constexpr std::size_t kNodes = 20;

// Returns maxUnavailable of the shipped DaemonSet with these components.
std::string MaxUnavailable(const std::vector<std::string>& components) {
  auto generated =
      deploy::Generate(deploy::EmbeddedFiles(), {.platform = "generic", .components = components});
  EXPECT_TRUE(generated);
  for (const doc::Node& document : generated->documents) {
    const doc::Node* at = &document;
    for (const char* key : {"spec", "updateStrategy", "rollingUpdate", "maxUnavailable"}) {
      at = at == nullptr ? nullptr : at->Find(key);
    }
    if (at != nullptr) return at->text;
  }
  ADD_FAILURE() << "no maxUnavailable";
  return "1";
}

// Twenty nodes that run the list "v1" and have it.
class Rollout : public testing::Test {
 protected:
  void Start(const std::vector<std::string>& components) {
    lists_ = {{"v1", {"r.io/a:v1"}},
              {"v2", {"r.io/a:v1", "r.io/b:v1"}},
              {"bad", {"r.io/a:v1", "r.io/b:v1", "r.io/gone:v1"}}};
    std::vector<FakePod> pods;
    for (std::size_t i = 0; i < kNodes; i++) {
      nodes_.push_back(std::make_unique<Node>());
      Node* node = nodes_.back().get();
      node->runtime.SetBandwidth(10 * kMB);
      node->runtime.Push(MakeImage("r.io/a:v1", kMB));
      node->runtime.Push(MakeImage("r.io/b:v1", 200 * kMB));
      auto replace = [this, node](const std::string& revision) {
        node->List(lists_.at(revision));
        node->RestartAgent();
      };
      pods.push_back({replace, [node] { return node->Ready(); }});
    }
    set_.emplace(std::move(pods), MaxUnavailable(components), "v1");
    ASSERT_TRUE(RunUntilRolledOut(minutes(1)));
  }

  // Everything for a second, then the controller; remembers how many nodes lacked a ready pod at most.
  void RunFor(base::Duration time) {
    for (base::Duration passed{0}; passed < time; passed += seconds(1)) {
      set_->Turn();
      for (auto& node : nodes_) node->RunFor(seconds(1));
      most_unavailable_ = std::max(most_unavailable_, kNodes - set_->Available());
    }
  }
  bool RunUntilRolledOut(base::Duration limit) {
    for (base::Duration passed{0}; passed < limit; passed += seconds(1)) {
      if (set_->RolledOut()) return true;
      RunFor(seconds(1));
    }
    return false;
  }
  std::size_t NodesWith(const std::string& image) {
    std::size_t count = 0;
    for (auto& node : nodes_) count += node->IdOf(image).empty() ? 0 : 1;
    return count;
  }

  std::map<std::string, std::vector<std::string>> lists_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::optional<FakeDaemonSet> set_;
  std::size_t most_unavailable_ = 0;
};

TEST_F(Rollout, IsDoneWhenEveryNodeHasEveryImage) {
  Start({});
  most_unavailable_ = 0;
  set_->Apply("v2");
  EXPECT_FALSE(set_->RolledOut());
  EXPECT_TRUE(RunUntilRolledOut(minutes(10)));
  EXPECT_EQ(NodesWith("r.io/b:v1"), kNodes);
  EXPECT_EQ(most_unavailable_, 2U) << "10 % of the nodes at a time";
}

TEST_F(Rollout, OfABadListStopsAtTheFirstPodsAndCanBeUndone) {
  Start({});
  set_->Apply("bad");
  RunFor(minutes(10));
  EXPECT_EQ(set_->Updated(), 2U);
  EXPECT_EQ(set_->Available(), kNodes - 2) << "the others go on with the list before";
  EXPECT_EQ(NodesWith("r.io/b:v1"), 2U);
  EXPECT_FALSE(set_->RolledOut());
  set_->Undo();
  EXPECT_TRUE(RunUntilRolledOut(minutes(1)));
  for (auto& node : nodes_) EXPECT_EQ(node->Snapshot()->images.size(), 1U);
}

TEST_F(Rollout, OfAMendedListGoesOnWhereTheBadOneStood) {
  Start({});
  set_->Apply("bad");
  RunFor(minutes(1));
  set_->Apply("v2");
  EXPECT_TRUE(RunUntilRolledOut(minutes(10)));
}

TEST_F(Rollout, OnAnEphemeralClusterReachesAllNodesAtOnce) {
  Start({"ephemeral"});
  set_->Apply("v2");
  EXPECT_TRUE(RunUntilRolledOut(seconds(30))) << "as long as one node takes";
  set_->Apply("bad");
  RunFor(minutes(1));
  EXPECT_EQ(set_->Available(), 0U) << "this is the price";
  set_->Undo();
  EXPECT_TRUE(RunUntilRolledOut(minutes(1)));
}

// The touch without any right for the agent: the DaemonSets that `prefetchctl generate touch-daemonset`
// prints, their pods run by kubelet, and an agent that only looks.

class TouchDaemonSetScenario : public TouchScenario {
 protected:
  Node& MakeAgent(VerificationPolicy policy, const std::vector<std::string>& images = {kApp}) {
    NodeOptions options = WithoutTouch(policy);
    options.runs_pods = true;
    Node& node = Make(std::move(options), images);
    node.RunFor(minutes(1));
    return node;
  }

  // As the DaemonSet controller and the scheduler: a pod of each on this node, where the objects allow it.
  void ApplyDaemonSets(const std::vector<std::string>& images) {
    auto generated = deploy::GenerateTouchDaemonSets(deploy::EmbeddedFiles(), images);
    ASSERT_TRUE(generated) << generated.error().message();
    std::string manifests;
    for (const doc::Node& document : generated->documents) manifests += "---\n" + doc::WriteYaml(document);
    FakeApiServer& server = node_->Cluster().server;
    ASSERT_TRUE(server.Apply(manifests));
    for (const doc::Node& document : generated->documents) {
      if (document.Find("kind")->text != "DaemonSet") continue;
      doc::Node pod = *document.Find("spec")->Find("template");
      Put(Sub(pod, "spec"), "nodeName", doc::Node::String("n1"));
      std::string name = document.Find("metadata")->Find("name")->text;
      server.Put("pods/prefetchd-touch/" + name + "-x7k2p", doc::WriteJson(pod));
    }
  }
  // A pod with a secret of its own makes kubelet pull.
  void PodPullsApp() {
    PodPulls(kApp, {.secret = SecretOf("team")});
    node_->RunFor(seconds(5));
  }
};

TEST_F(TouchDaemonSetScenario, WhatKubeletVerifiesAlwaysIsOpenWithinSecondsTwentyImagesAPod) {
  std::vector<std::string> images = Numbered("reg.example.test/a", 45);
  Node& node = MakeAgent(VerificationPolicy::kAlwaysVerify, images);
  ASSERT_FALSE(node.Ready());
  ApplyDaemonSets(images);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  EXPECT_EQ(node.Cluster().pods.pods_taken_up(), 3);
  EXPECT_TRUE(node.Cluster().server.Requests().empty()) << "the agent asks for nothing";
}

TEST_F(TouchDaemonSetScenario, WhatAPodsSecretClosesIsOpenAgainWithinFiveMinutes) {
  Node& node = MakeAgent(VerificationPolicy::kNeverVerifyPreloadedImages);
  ApplyDaemonSets({kApp});
  node.RunFor(hours(1));
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kPreloaded) << "what is merely preloaded is never touched";
  PodPullsApp();
  ASSERT_EQ(node.ReasonOf(kApp), Reason::kRecordedForOthers);
  EXPECT_TRUE(Opens(minutes(5) + seconds(1)));
  PodPullsApp();
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kOpenToNode) << "for good";
}

TEST_F(TouchDaemonSetScenario, AnotherContentBehindTheTagIsTouchedAgain) {
  Node& node = MakeAgent(VerificationPolicy::kAlwaysVerify);
  ApplyDaemonSets({kApp});
  ASSERT_TRUE(Opens(seconds(10)));
  node.RunFor(hours(1));
  FakeImage next = MakeImage(kApp, 12'000'000);
  node.runtime.Push(next);
  node.runtime.Preload(next);
  ASSERT_TRUE(node.RunUntil([&] { return !node.Ready(); }, minutes(1)));
  EXPECT_TRUE(Opens(minutes(5) + seconds(1)));
}

TEST_F(TouchDaemonSetScenario, WithoutNodeCredentialsItOpensNothingAndHarmsNothing) {
  Node& node = MakeAgent(VerificationPolicy::kAlwaysVerify);
  node.runtime.Push(Private(MakeImage(kApp, 10'000'000), "ada"));
  ApplyDaemonSets({kApp});
  EXPECT_FALSE(Opens(hours(1)));
  EXPECT_TRUE(node.Image(kApp).present);
}

}  // namespace
}  // namespace prefetch::tests::rollout_scenario_test
