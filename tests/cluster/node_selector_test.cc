// Entries with a nodeSelector, by the labels of a real Node: those that kubelet writes, and others'.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "cluster/as_pod.h"
#include "rig/expect_ok.h"

namespace prefetch::cluster::node_selector_test {
namespace {

// The agent reads its Node once a minute.
constexpr seconds kLabelCounts{90};

std::string Entry(const std::string& image, const std::string& selector) {
  return "- {image: \"" + image + "\", nodeSelector: {" + selector + "}}\n";
}

class NodeSelector : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(SharedControlPlane(), nullptr);
    node_.emplace(*SharedControlPlane());
    as_pod_.emplace(*node_, std::vector<std::string>{});
  }
  // `pool` as JSON.
  void Label(const std::string& pool) {
    const ApiAnswer patched =
        node_->api().MergePatch("/api/v1/nodes/n1", R"({"metadata":{"labels":{"pool":)" + pool + "}}}");
    ASSERT_TRUE(patched.ok()) << patched.text;
  }
  // Waits until the whole node is ready, with this number of entries.
  bool IsReadyWith(std::uint64_t required, seconds limit) {
    return rig::Eventually(limit, [&] {
      const status::StatusDocument status = node_->node().Status();
      return status.ready && status.required == required && status.required_ready == required;
    });
  }

  std::optional<RealNode> node_;
  std::optional<AsPod> as_pod_;
};

TEST_F(NodeSelector, FollowsTheLabelsOfTheNode) {
  const std::string every = node_->Push("team/linux"), gpu = node_->Push("team/gpu"),
                    windows = node_->Push("team/windows");
  node_->node().HasListFile("pools.yaml",
                            "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n" +
                                Entry(every, "kubernetes.io/os: linux, kubernetes.io/hostname: n1") +
                                Entry(gpu, "kubernetes.io/os: linux, pool: gpu") +
                                Entry(windows, "kubernetes.io/os: windows"));
  node_->StartLearningAgent();
  ASSERT_TRUE(IsReadyWith(1, seconds(60))) << node_->node().AgentLog();
  EXPECT_NE(node_->IdOf(every), "");
  for (const std::string& other : {gpu, windows}) {
    EXPECT_EQ(node_->IdOf(other), "");
    EXPECT_FALSE(node_->node().StatusOf(other).applies);
    EXPECT_EQ(node_->node().StatusOf(other).reason.text(), "NotSelected");
  }

  Label(R"("gpu")");
  ASSERT_TRUE(IsReadyWith(2, kLabelCounts)) << node_->node().AgentLog();
  EXPECT_NE(node_->IdOf(gpu), "");
  EXPECT_EQ(node_->IdOf(windows), "");

  // It stays, and does not count any more.
  Label("null");
  ASSERT_TRUE(IsReadyWith(1, kLabelCounts)) << node_->node().AgentLog();
  EXPECT_EQ(node_->node().StatusOf(gpu).reason.text(), "NotSelected");
  EXPECT_NE(node_->IdOf(gpu), "");
  EXPECT_EQ(node_->node().Status().problems, std::vector<std::string>{});
}

}  // namespace
}  // namespace prefetch::cluster::node_selector_test
