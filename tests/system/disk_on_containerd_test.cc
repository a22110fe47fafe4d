// What the agent knows of an image's size while containerd pulls it.

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "system/node.h"

namespace prefetch::system::disk_on_containerd_test {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kMegabyte = 1'000'000;

bool Becomes(const Node& node, const std::string& image, const std::string& reason) {
  return rig::Eventually(seconds(40), [&] { return node.StatusOf(image).reason.text() == reason; });
}

TEST(Disk, WhatDoesNotFitIsSaidAndSmallOnesOvertake) {
  Node node(Node::Small::kEverything, 150 * kMegabyte);
  std::unique_ptr<Host> registry = node.AddRegistry("registry.example.test", {});
  std::string big = registry->Push("big", "v1", {{1, 70 * kMegabyte}});
  std::string small = registry->Push("small", "v1", {{2, kMegabyte}});
  // With what it unpacks to, the big one needs at least 140 MB of 120.
  node.HasLimits("{diskHighPercent: 80, diskMinFreeBytes: 20000000}");
  registry->proxy().LimitBandwidth(10 * kMegabyte);
  node.HasList({big, small});
  node.StartAgent();
  EXPECT_TRUE(Becomes(node, small, "Present")) << node.AgentLog();
  EXPECT_TRUE(Becomes(node, big, "DiskPressure")) << node.AgentLog();
  status::StatusDocument status = node.Status();
  ASSERT_TRUE(status.disk);
  EXPECT_TRUE(status.disk->pressure);
  EXPECT_EQ(node.Get("/readyz").status, 503);
  // Neither a loop of pulls, nor bytes that stay: it was seen after the first of them that it cannot fit.
  std::uint64_t served = registry->proxy().BytesToClients();
  // What had arrived when the pull ended is no longer needed.
  EXPECT_GE(status.disk->needed_bytes + served, 200 * kMegabyte);
  EXPECT_LT(served, 30 * kMegabyte);
  EXPECT_FALSE(rig::Eventually(seconds(5), [&] { return registry->proxy().BytesToClients() > served; }));
}

// Becomes the command that follows, in a pod's view of the node: its root is an overlay, and containerd's
// data is not mounted. The upper layer is on a filesystem of 40 MiB.
const char* const kAsInAPod = R"(set -e
scratch=$1; shift
mkdir "$scratch/pod"
mount -t tmpfs -o size=40m tmpfs "$scratch/pod"
mkdir "$scratch/pod/upper" "$scratch/pod/work" "$scratch/pod/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$scratch/pod/upper,workdir=$scratch/pod/work" "$scratch/pod/root"
for each in /proc /dev "$scratch"; do mount --rbind "$each" "$scratch/pod/root$each"; done
mount -t tmpfs tmpfs "$scratch/pod/root$scratch/containerd/root"
exec chroot "$scratch/pod/root" "$@")";

TEST(Disk, IsMeasuredInAPodWhichDoesNotMountTheRuntimesData) {
  Node node;
  node.RunsAgentBy({"unshare", "--mount", "sh", "-c", kAsInAPod, "sh", node.scratch() / ""});
  node.HasList({});
  node.StartAgent();
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return node.Status().disk.has_value(); }))
      << node.AgentLog();
  EXPECT_EQ(node.Status().disk->capacity_bytes, 40U << 20);
}

}  // namespace
}  // namespace prefetch::system::disk_on_containerd_test
