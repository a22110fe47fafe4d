// Lists that are rolled out by the DaemonSet as it is shipped: each node a whole agent, replaced as
// Kubernetes would replace it.
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "deploy/generate.h"
#include "deploy/kustomization.h"
#include "fakes/fake_daemon_set.h"
#include "scenario/node.h"

namespace prefetch::tests::rollout_scenario_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint64_t kMB = 1'000'000;
constexpr std::size_t kNodes = 20;

// What the shipped DaemonSet says, with these components.
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

}  // namespace
}  // namespace prefetch::tests::rollout_scenario_test
