// Pins in a real containerd, which keeps them in labels of names.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "must.h"
#include "plan/pins.h"
#include "rig/expect_ok.h"
#include "system/node.h"

namespace prefetch::system::pin_on_containerd_test {
namespace {

std::string ListOf(const std::string& image, const std::string& fields) {
  return "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- {image: \"" + image + "\"" +
         fields + "}\n";
}

class PinOnContainerd : public testing::Test {
 protected:
  // Does the name have the label, as ctr sees it?
  bool IsLabelled() { return IsLabelled(image_); }
  bool IsLabelled(const std::string& name) {
    auto listed = node_.containerd().Ctr({"images", "ls", "name==" + name});
    EXPECT_OK(listed);
    return listed && listed->find("io.cri-containerd.pinned=pinned") != std::string::npos;
  }

  Node node_;
  std::unique_ptr<Host> registry_ = node_.AddRegistry("registry.example.test", {});
  std::string image_ = registry_->Push("app", "v1", {{1, 1'000'000}});
};

TEST_F(PinOnContainerd, IsSetAndReportedAndGoesWithTheField) {
  node_.HasListFile("list.yaml", ListOf(image_, ", pin: true"));
  node_.StartAgent();
  EXPECT_TRUE(rig::Eventually(seconds(30), [&] { return IsLabelled(); })) << node_.AgentLog();
  // A release that does not report the label is named.
  const bool reports = plan::ReportsPins(node_.Status().runtime.version);
  EXPECT_TRUE(rig::Eventually(seconds(30), [&] {
    const status::StatusImage shown = node_.StatusOf(image_);
    return shown.ready && shown.pinned == reports && shown.pin_problem.empty() == reports;
  })) << node_.Ctl({"status"}).out;
  node_.HasListFile("list.yaml", ListOf(image_, ""));
  EXPECT_TRUE(rig::Eventually(seconds(30), [&] { return !IsLabelled() && !node_.StatusOf(image_).pinned; }))
      << node_.AgentLog();
  EXPECT_TRUE(node_.Has(image_));
}

// The way to take all pins off a node: a list without them.
TEST_F(PinOnContainerd, AnotherProcessTakesThePinsOff) {
  node_.HasListFile("list.yaml", ListOf(image_, ", pin: true"));
  node_.StartAgent();
  ASSERT_TRUE(rig::Eventually(seconds(30), [&] { return IsLabelled(); })) << node_.AgentLog();
  node_.agent().Kill();
  node_.HasListFile("list.yaml", ListOf(image_, ""));
  node_.StartAgent();
  EXPECT_TRUE(rig::Eventually(seconds(30), [&] { return !IsLabelled(); })) << node_.AgentLog();
}

// Before the agent is deleted for good. Pins of agents that have gone come off, and those of other clients
// stay.
TEST_F(PinOnContainerd, UnpinTakesThePinsOfAllAgentsOff) {
  const std::string foreign = registry_->Push("foreign", "v1", {{2, 100'000}});
  node_.HasListFile("list.yaml", ListOf(image_, ", pin: true"));
  node_.HasListFile("other.yaml", ListOf(foreign, ""));
  const rig::Ran ran = node_.Once({"--instance", "before"});
  EXPECT_EQ(ran.exit, rig::Exit{}) << ran.err;
  EXPECT_TRUE(IsLabelled()) << "before --once ends: " << ran.out;
  ASSERT_OK(node_.containerd().Ctr({"images", "label", foreign, "io.cri-containerd.pinned=pinned"}));
  node_.StartAgent({"--unpin"});
  EXPECT_FALSE(IsLabelled()) << "before the agent answers";
  EXPECT_TRUE(rig::Eventually(seconds(30), [&] {
    const status::StatusImage shown = node_.StatusOf(image_);
    return shown.ready && shown.pin_problem == "the agent runs with --unpin";
  })) << node_.Ctl({"status"}).out;
  EXPECT_FALSE(IsLabelled());
  EXPECT_TRUE(IsLabelled(foreign));
}

TEST_F(PinOnContainerd, UnpinOnceNeedsNoListAndEndsAtOnce) {
  node_.HasListFile("list.yaml", ListOf(image_, ", pin: true"));
  EXPECT_EQ(node_.Once().exit, rig::Exit{});
  ASSERT_TRUE(IsLabelled());
  rig::Command command = node_.Agent({});
  command.argv = {command.argv.front(), "--runtime-endpoint", node_.runtime().endpoint(), "--unpin",
                  "--once"};
  for (const char* said : {"unpinned 1 image\n", "unpinned 0 images\n"}) {
    const auto ran = tests::Must(rig::RunProgram(command, seconds(30)));
    EXPECT_EQ(ran->exit, rig::Exit{}) << ran->err;
    EXPECT_EQ(ran->out, said);
    EXPECT_FALSE(IsLabelled());
  }
  ASSERT_TRUE(node_.containerd().Stop());
  const auto ran = tests::Must(rig::RunProgram(command, seconds(30)));
  EXPECT_EQ(ran->exit, (rig::Exit{4, 0})) << ran->err;
}

// Tests of the disk: the agent learns an image's size while containerd pulls it.

constexpr std::uint64_t kMegabyte = 1'000'000;

TEST(Disk, WhatDoesNotFitIsSaidAndSmallOnesOvertake) {
  Node node(Node::Small::kEverything, 150 * kMegabyte);
  std::unique_ptr<Host> registry = node.AddRegistry("registry.example.test", {});
  std::string big = registry->Push("big", "v1", {{1, 70 * kMegabyte}});
  std::string small = registry->Push("small", "v1", {{2, kMegabyte}});
  // With what it unpacks to, the big one needs at least 140 MB of 120.
  node.HasLimits("{diskHighPercent: 80, diskMinFreeBytes: 20000000}");
  registry->proxy().LimitBandwidth(3 * kMegabyte);  // a busy machine may take seconds to see it
  node.HasList({big, small});
  node.StartAgent();
  EXPECT_TRUE(node.Becomes(small, "Present")) << node.AgentLog();
  EXPECT_TRUE(node.Becomes(big, "DiskPressure")) << node.AgentLog();
  status::StatusDocument status = node.Status();
  ASSERT_TRUE(status.disk);
  EXPECT_TRUE(status.disk->pressure);
  EXPECT_EQ(node.Get("/readyz").status, 503);
  // Neither a loop of pulls, nor bytes that stay: it was seen after the first of them that it cannot fit.
  std::uint64_t served = registry->proxy().BytesToClients();
  // Bytes that had arrived when the pull ended are no longer needed.
  EXPECT_GE(status.disk->needed_bytes + served, 140 * kMegabyte);
  EXPECT_LT(served, 30 * kMegabyte);
  EXPECT_FALSE(rig::Eventually(seconds(5), [&] { return registry->proxy().BytesToClients() > served; }));
}

// Runs the command that follows in a pod's view of the node: its root is an overlay, and containerd's data is
// not mounted. The upper layer is on a filesystem of 40 MiB.
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

// Tests of recovery on containerd alone: leases, and events of images.

class RecoveryOnContainerd : public testing::Test {
 protected:
  Node node_;
  std::unique_ptr<Host> registry_ = node_.AddRegistry("registry.example.test", {});
  std::string image_ = registry_->Push("app", "v1", {{1, kMegabyte}});
};

TEST_F(RecoveryOnContainerd, NoLeaseIsLeftOfPullsThatAreOver) {
  std::string other = registry_->Push("other", "v1", {{3, kMegabyte}});
  node_.HasList({image_, other});
  rig::Ran once = node_.Once();
  EXPECT_EQ(once.exit, rig::Exit{}) << once.out << once.err;
  auto leases = tests::Must(node_.containerd().Ctr({"leases", "ls"}));
  EXPECT_EQ(leases->find("prefetchd-"), std::string::npos) << *leases;
}

// Not at the next look, which would be 4 s away on average.
TEST_F(RecoveryOnContainerd, AnImageThatIsRemovedIsMissedWithinASecond) {
  // The quickest of several tries counts: the machine's other work is not the agent's. Each removes another
  // image, since one that vanishes again and again is taken for kubelet's garbage collection and comes back
  // late.
  std::vector<std::string> images;
  for (unsigned i = 0; i < 4; i++)
    images.push_back(registry_->Push("app", "v1-" + std::to_string(i), {{i, 1000}}));
  node_.HasList(images);
  node_.StartAgent();
  auto least = std::chrono::steady_clock::duration::max();
  for (const std::string& image : images) {
    ASSERT_TRUE(node_.BecomesReady(seconds(60))) << node_.AgentLog();
    EXPECT_OK(registry_->proxy().Refuse(true));
    ASSERT_OK(node_.containerd().Ctr({"images", "rm", image}));
    const auto removed = std::chrono::steady_clock::now();
    EXPECT_TRUE(rig::Eventually(seconds(10), [&] { return node_.Get("/readyz").status != 200; }));
    least = std::min(least, std::chrono::steady_clock::now() - removed);
    EXPECT_OK(registry_->proxy().Refuse(false));
    if (least <= seconds(1)) break;
  }
  RecordProperty("ms", std::to_string(least / std::chrono::milliseconds(1)));
  EXPECT_LE(least, seconds(1)) << least / std::chrono::milliseconds(1) << " ms; " << node_.AgentLog();
}

}  // namespace
}  // namespace prefetch::system::pin_on_containerd_test
