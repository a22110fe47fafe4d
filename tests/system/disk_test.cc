// Room on the node: a runtime whose disk is small.

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "rig/expect_ok.h"
#include "system/node.h"

namespace prefetch::system::disk_test {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;

// An image whose size nobody tells is pulled by itself in little room. So the agent has seen what it needs.
constexpr const char* kAfterFilling = "DiskPressure";

// Nobody tells what an image unpacks to, so this one is found out: it costs one download, and the others
// come.
TEST(Disk, ADiskThatReallyFillsCostsOneDownload) {
  Node node(Node::Small::kEverything, 120 * kMegabyte);
  std::unique_ptr<Host> registry = node.AddRegistry("registry.example.test", {});
  std::string big = registry->Push("big", "v1", {{1, 16 * kMegabyte, 96 * kMegabyte}});
  std::string one = registry->Push("one", "v1", {{2, 16 * kMegabyte}});
  std::string other = registry->Push("other", "v1", {{3, 16 * kMegabyte}});
  node.HasLimits("{diskHighPercent: 90, diskMinFreeBytes: 5000000}");
  node.HasList({big, one, other});
  registry->proxy().LimitBandwidth(10 * kMegabyte);
  node.StartAgent();
  EXPECT_TRUE(node.Becomes(one, "Present")) << node.AgentLog();
  EXPECT_TRUE(node.Becomes(other, "Present")) << node.AgentLog();
  EXPECT_TRUE(node.Becomes(big, kAfterFilling)) << node.AgentLog();
  std::uint64_t served = registry->proxy().BytesToClients();
  EXPECT_LE(served, 52 * kMegabyte) << "1.1 x what came + one download";
  EXPECT_FALSE(rig::Eventually(seconds(12), [&] { return registry->proxy().BytesToClients() > served; }));
  // Nobody waits for it.
  rig::Ran waited = node.Ctl({"wait", "--fail-fast", "--timeout", "20s"});
  EXPECT_EQ(waited.exit, (rig::Exit{1, 0})) << waited.out << waited.err;
}

// A run that ends by itself does not wait for room that nobody makes: 1, not ready, without a --timeout.
TEST(Disk, OnceEndsWhereAnImageHasNoRoom) {
  Node node(Node::Small::kEverything, 120 * kMegabyte);
  std::unique_ptr<Host> registry = node.AddRegistry("registry.example.test", {});
  std::string big = registry->Push("big", "v1", {{1, 16 * kMegabyte, 96 * kMegabyte}});
  std::string one = registry->Push("one", "v1", {{2, 16 * kMegabyte}});
  node.HasLimits("{diskHighPercent: 90, diskMinFreeBytes: 5000000}");
  node.HasList({big, one});
  registry->proxy().LimitBandwidth(20 * kMegabyte);
  rig::Ran ran = node.Once();
  EXPECT_EQ(ran.exit, (rig::Exit{1, 0})) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("no room"), std::string::npos) << ran.out << ran.err;
  EXPECT_FALSE(node.Has(big));
  EXPECT_TRUE(node.Has(one));
}

// A loaded containerd collects its garbage seldom. Only bytes that it removes on demand are room in time.
void CollectorRests(Node& node) {
  auto* containerd = dynamic_cast<rig::Containerd*>(&node.runtime());
  if (containerd == nullptr) return;
  containerd->CollectRarely();
  EXPECT_OK(containerd->Stop());
  EXPECT_OK(containerd->Start());
}

// The disk is full while bytes of ended pulls are still being removed: the limit is so low that the agent
// drops them long before. They are no competitor whose end would be a reason to try again.
TEST(Disk, ADiskThatFillsBesideAFewBytesOfOthersCostsOneDownload) {
  Node node(Node::Small::kEverything, 120 * kMegabyte);
  CollectorRests(node);
  std::unique_ptr<Host> registry = node.AddRegistry("registry.example.test", {});
  std::string big = registry->Push("big", "v1", {{1, 16 * kMegabyte, 120 * kMegabyte}});
  std::string one = registry->Push("one", "v1", {{2, 8 * kMegabyte}});
  std::string other = registry->Push("other", "v1", {{3, 8 * kMegabyte}});
  node.HasLimits("{diskHighPercent: 60, diskMinFreeBytes: 5000000}");
  node.HasList({big, one, other});
  registry->proxy().LimitBandwidth(20 * kMegabyte);
  node.StartAgent();
  EXPECT_TRUE(node.Becomes(one, "Present")) << node.AgentLog();
  EXPECT_TRUE(node.Becomes(other, "Present")) << node.AgentLog();
  EXPECT_TRUE(node.Becomes(big, kAfterFilling)) << node.AgentLog();
  EXPECT_FALSE(
      rig::Eventually(seconds(5), [&] { return node.StatusOf(big).reason.text() != kAfterFilling; }));
  EXPECT_LE(registry->proxy().BytesToClients(), 44 * kMegabyte)
      << "one download of each, and what was dropped";
}

// Downloads are on another filesystem than the images, which is where the runtime says its images are: the
// rule cannot see that one fill up, so the runtime's own words must do.
TEST(Disk, NoSpaceLeftIsSaidAndStopsNewPulls) {
  Node node(Node::Small::kContent, 30 * kMegabyte);
  std::unique_ptr<Host> registry = node.AddRegistry("registry.example.test", {});
  std::string huge = registry->Push("huge", "v1", {{3, 45 * kMegabyte}});
  std::string small = registry->Push("small", "v1", {{2, kMegabyte}});
  node.HasList({huge});
  node.StartAgent();
  EXPECT_TRUE(node.Becomes(huge, "DiskFull")) << node.AgentLog();
  node.HasList({huge, small});
  EXPECT_TRUE(node.Becomes(small, "DiskFull")) << node.AgentLog();
  EXPECT_EQ(registry->proxy().Count("", "/small/"), 0U);
  EXPECT_EQ(node.Get("/readyz").status, 503);
}

}  // namespace
}  // namespace prefetch::system::disk_test
