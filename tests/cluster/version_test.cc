// kubelet's version as a real kubelet writes it to its Node, read with the right that is shipped: nothing is
// declared.
#include <gtest/gtest.h>

#include <chrono>
#include <ctime>

#include "cluster/as_pod.h"
#include "cluster/programs.h"
#include "rig/expect_ok.h"
#include "rig/proxy.h"

namespace prefetch::cluster::version_test {
namespace {

class LearntVersion : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(SharedControlPlane(), nullptr);
    node_.emplace(*SharedControlPlane());
    api_.emplace(SharedControlPlane()->port());
    ASSERT_OK(api_->Start());
    node_->kubelet().ReachesApiBy(api_->port());
    ASSERT_OK(node_->kubelet().Restart({}));
  }
  void StartAgent(const std::vector<std::string>& components = {}) {
    as_pod_.emplace(*node_, components);
    node_->node().HasList({node_->Push("team/app")});
    node_->StartLearningAgent();
  }
  status::StatusDocument Status() { return node_->node().Status(); }
  bool Comes(seconds limit, const std::function<bool(const status::StatusDocument&)>& state) {
    return rig::Eventually(limit, [&] { return state(Status()); });
  }
  // With this version, and ready by it.
  static bool Knows(const status::StatusDocument& status) {
    return status.ready && status.kubelet.version == KubeletVersion();
  }

  std::optional<RealNode> node_;
  std::optional<rig::Proxy> api_;  // between kubelet and the API server
  std::optional<AsPod> as_pod_;
};

TEST_F(LearntVersion, IsInTheStatus) {
  StartAgent();
  EXPECT_TRUE(Comes(seconds(30), Knows)) << node_->node().AgentLog();
  EXPECT_EQ(Status().kubelet.SourceOf("version"), "Node status");
  EXPECT_EQ(Status().problems, std::vector<std::string>{});
}

TEST_F(LearntVersion, ARestartedKubeletIsAwaitedUntilItHasWrittenItsNode) {
  StartAgent();
  ASSERT_TRUE(Comes(seconds(30), Knows)) << node_->node().AgentLog();
  // A heartbeat has no fractions of a second: one of the second in which a kubelet starts may be its own.
  const std::time_t second = std::time(nullptr);
  ASSERT_TRUE(rig::Eventually(seconds(5), [&] { return std::time(nullptr) > second; }));
  api_->Freeze(true);
  node_->kubelet().Stop();
  const auto began = std::chrono::steady_clock::now();
  ASSERT_OK(node_->kubelet().Begin({}));
  ASSERT_TRUE(Comes(seconds(20), [](const status::StatusDocument& status) { return !status.ready; }));
  const auto held = std::chrono::steady_clock::now() - began;
  EXPECT_GE(held, seconds(3)) << "most restarts are no upgrades";
  EXPECT_LE(held, seconds(8)) << "2 s until the process is seen, and 3 s";
  status::StatusDocument unknown = Status();
  EXPECT_EQ(unknown.kubelet.version, "");
  EXPECT_EQ(unknown.phase.text(), "Progressing") << unknown.message;
  ASSERT_EQ(unknown.images.size(), 1U);
  EXPECT_EQ(unknown.images[0].reason.text(), "FactsUnknown") << unknown.images[0].message;
  api_->CutAll();  // what the kubelet before has left in it
  api_->Freeze(false);
  EXPECT_TRUE(Comes(seconds(40), Knows)) << node_->node().AgentLog();
  EXPECT_EQ(Status().problems, std::vector<std::string>{});
}

TEST_F(LearntVersion, AnUpgradeOfKubeletCounts) {
  node_->kubelet().RunsProgram(OlderKubelet());
  ASSERT_OK(node_->kubelet().Restart({}));
  StartAgent();
  const std::string older = VersionOfProgram(OlderKubelet());
  ASSERT_NE(older, KubeletVersion());
  ASSERT_TRUE(Comes(seconds(30), [&](const status::StatusDocument& status) {
    return status.ready && status.kubelet.version == older;
  })) << node_->node().AgentLog();
  node_->kubelet().RunsProgram("kubelet");
  ASSERT_OK(node_->kubelet().Restart({}));
  EXPECT_TRUE(Comes(seconds(15), Knows)) << "not after a minute: " << node_->node().AgentLog();
  EXPECT_EQ(Status().problems, std::vector<std::string>{});
}

TEST_F(LearntVersion, WithoutTheRightItIsSaidWhatToGrant) {
  StartAgent({"no-api-access"});
  EXPECT_TRUE(Comes(seconds(30), [](const status::StatusDocument& status) {
    return !status.problems.empty() &&
           status.problems[0].find("grant get on nodes, or set --kubelet-version") != std::string::npos;
  })) << node_->node().AgentLog();
  EXPECT_EQ(Status().kubelet.version, "");
}

}  // namespace
}  // namespace prefetch::cluster::version_test
