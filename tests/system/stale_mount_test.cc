// A file that was mounted by itself into the agent's container, and replaced on the node.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "rig/expect_ok.h"
#include "system/node.h"

namespace prefetch::system::stale_mount_test {
namespace {

using std::chrono::seconds;

// Becomes the agent, in a mount namespace where $2 is the file $1.
constexpr const char* kMountFile = "mount --bind \"$1\" \"$2\" && shift 2 && exec \"$@\"";

class StaleMount : public testing::Test {
 protected:
  void SetUp() override {
    of_node_ = node_.scratch().Write("node/config.json", R"({"auths":{}})");
    mounted_ = node_.scratch().Write("container/config.json", "");
    node_.scratch().Write("kubelet/image_manager/none", "");
    node_.HasKubelet({"--kubelet-version", "1.36", "--kubelet-verification", "NeverVerifyPreloadedImages",
                      "--kubelet-root", node_.scratch() / "kubelet", "--docker-config", mounted_});
  }
  // As who edits it: by rename.
  void ReplaceOnNode() {
    std::filesystem::rename(node_.scratch().Write("node/config.json.new", R"({"auths":{}})"), of_node_);
  }
  bool Told() {
    for (const std::string& problem : node_.Status().problems) {
      if (problem.find(mounted_ + " was replaced on the node") != std::string::npos) return true;
    }
    return false;
  }
  void StartAgent() {
    node_.RunsAgentBy({"unshare", "--mount", "sh", "-c", kMountFile, "pod", of_node_, mounted_});
    node_.StartAgent();
  }

  Node node_;
  std::string of_node_, mounted_;
};

TEST_F(StaleMount, OfAFileIsAProblemWhileTheAgentRuns) {
  StartAgent();
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return !node_.Status().kubelet.version.empty(); }));
  EXPECT_FALSE(Told());
  ReplaceOnNode();
  EXPECT_TRUE(rig::Eventually(seconds(60), [&] { return Told(); })) << node_.AgentLog();
  const std::string readyz = node_.Get("/readyz?verbose").body;
  EXPECT_NE(readyz.find("was replaced on the node"), std::string::npos) << readyz;
}

// CA bundles, docker configs and lists go stale there just as well.
TEST_F(StaleMount, IsAlsoToldWhereNoKubeletRuns) {
  node_.HasKubelet({"--kubelet", "none", "--docker-config", mounted_});
  StartAgent();
  ReplaceOnNode();
  EXPECT_TRUE(rig::Eventually(seconds(60), [&] { return Told(); })) << node_.AgentLog();
}

// A pod that starts anew has the new file mounted.
TEST_F(StaleMount, EndsWithThePod) {
  ReplaceOnNode();
  StartAgent();
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return !node_.Status().kubelet.version.empty(); }));
  EXPECT_FALSE(Told());
}

}  // namespace
}  // namespace prefetch::system::stale_mount_test
