// A pin under a real kubelet's garbage collection of images.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "cluster/as_shipped.h"
#include "cluster/real_node.h"
#include "rig/expect_ok.h"
#include "text_of.h"

namespace prefetch::cluster::pin_test {
namespace {

std::string ListOf(const std::string& image, const std::string& pin) {
  return "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- {image: \"" + image +
         "\", pin: " + pin + "}\n";
}

class RealPin : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(SharedControlPlane(), nullptr); }
  static bool IsCollected(RealNode& node, const std::string& image) {
    return rig::Eventually(seconds(90), [&] { return node.IdOf(image).empty(); });
  }
  // One collection has begun after this, so the one before has ended.
  static bool AwaitCollection(RealNode& node) {
    const std::size_t before = Collections(node);
    return rig::Eventually(seconds(60), [&] { return Collections(node) > before; });
  }

 private:
  // By kubelet's log.
  static std::size_t Collections(RealNode& node) {
    const std::string begins = "Attempting to delete unused images",
                      log = tests::TextSoFar(node.kubelet().log());
    std::size_t count = 0;
    for (std::size_t at = log.find(begins); at != std::string::npos; at = log.find(begins, at + 1)) count++;
    return count;
  }
};

TEST_F(RealPin, KubeletSparesThePinnedImageAlone) {
  RealNode node(*SharedControlPlane());
  const std::string kept = node.Push("team/kept", "v1", "kept"),
                    other = node.Push("team/other", "v1", "other");
  node.node().HasListFile("kept.yaml", ListOf(kept, "true"));
  node.node().HasListFile("other.yaml", ListOf(other, "true"));
  node.StartAgent();
  ASSERT_TRUE(rig::Eventually(seconds(60), [&] {
    return node.node().StatusOf(kept).pinned && node.node().StatusOf(other).pinned;
  })) << node.node().AgentLog();
  node.node().HasListFile("other.yaml", ListOf(other, "false"));
  ASSERT_TRUE(rig::Eventually(seconds(30), [&] {
    return node.node().StatusOf(other).ready && !node.node().StatusOf(other).pinned;
  })) << node.node().AgentLog();
  // An agent would pull again, and it would keep pins below these thresholds.
  ASSERT_TRUE(node.node().agent().Stop(seconds(10)).has_value());
  // Its collection for the thresholds runs every five minutes, the one for a full disk every ten seconds;
  // both take images in the same order, and leave pinned ones.
  ASSERT_OK(node.kubelet().Restart({.starves = true}));
  ASSERT_TRUE(IsCollected(node, other)) << tests::TextSoFar(node.kubelet().log());
  ASSERT_TRUE(AwaitCollection(node)) << tests::TextSoFar(node.kubelet().log());
  EXPECT_NE(node.IdOf(kept), "");
  const rig::Ran ran = node.node().Once({"--unpin"});
  EXPECT_EQ(ran.out, "unpinned 1 image\n") << ran.err;
  EXPECT_TRUE(IsCollected(node, kept));
}

}  // namespace
}  // namespace prefetch::cluster::pin_test
