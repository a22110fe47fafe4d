// The bench itself: a node is up in seconds, and answers as a cluster's does.
#include <gtest/gtest.h>

#include "cluster/crio.h"
#include "cluster/real_node.h"

namespace prefetch::cluster::boot_test {
namespace {

TEST(Boot, ANodeIsUpInSecondsAndRunsPods) {
  auto before = std::chrono::steady_clock::now();
  ASSERT_NE(SharedControlPlane(), nullptr);
  RealNode node(*SharedControlPlane());
  auto took = std::chrono::steady_clock::now() - before;
  std::printf("control plane and node: %.1f s\n", std::chrono::duration<double>(took).count());
  EXPECT_LT(took, seconds(40));
  const std::string image = node.PushPause("tools/pause");
  EXPECT_EQ(node.pods().Ask({.images = {image}})[0].answer, PodAnswer::kRefused);
  Answered answered = node.pods().Ask({.policy = "IfNotPresent", .images = {image}})[0];
  EXPECT_EQ(answered.answer, PodAnswer::kPulls) << answered.text;
  answered = node.pods().Ask({.policy = "IfNotPresent", .images = {image}})[0];
  EXPECT_EQ(answered.answer, PodAnswer::kStarts) << answered.text;
  EXPECT_EQ(node.VerdictOf(image).never.result, "Starts");
}

TEST(Boot, ANodeWithCrioRunsPods) {
  ASSERT_NE(SharedControlPlane(), nullptr);
  const OnCrio on_crio;
  RealNode node(*SharedControlPlane());
  const std::string image = node.PushPause("tools/pause");
  EXPECT_EQ(node.pods().Ask({.images = {image}})[0].answer, PodAnswer::kRefused);
  Answered answered = node.pods().Ask({.policy = "IfNotPresent", .images = {image}})[0];
  EXPECT_EQ(answered.answer, PodAnswer::kPulls) << answered.text;
  answered = node.pods().Ask({.images = {image}})[0];
  EXPECT_EQ(answered.answer, PodAnswer::kStarts) << answered.text;
  EXPECT_EQ(node.VerdictOf(image).never.result, "Starts");
}

}  // namespace
}  // namespace prefetch::cluster::boot_test
