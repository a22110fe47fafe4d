// What leases leave behind, and what they keep.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "scenario/node.h"

namespace prefetch::tests::lease_scenario_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint64_t kMB = 1'000'000;
const std::string kImage = "r.io/a:v1";

std::string Lease() {
  return cri::LeaseFor("a", *image::Reference::Parse(kImage));
}

// A pull of 900 s.
void StartLongPull(Node& node) {
  node.runtime.SetBandwidth(kMB);
  node.runtime.Push(MakeImage(kImage, 900 * kMB));
  node.List({kImage});
  node.RunFor(minutes(1));
  ASSERT_EQ(node.runtime.Leases(), std::vector<std::string>{Lease()});
}

TEST(LeaseScenario, WhatSomebodyElseBringsNeedsNoLease) {
  Node node;
  StartLongPull(node);
  node.runtime.SetRegistry(RegistryState::kDown);
  node.RunFor(seconds(5));
  node.runtime.Preload(*node.runtime.InRegistry(kImage));
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  node.RunFor(minutes(1));
  EXPECT_EQ(node.runtime.Leases(), std::vector<std::string>{});
}

TEST(LeaseScenario, ALeaseThatCouldNotBeDeletedIsTriedAgain) {
  Node node;
  node.runtime.Push(MakeImage(kImage, kMB));
  node.runtime.FailNext(LeaseCall::kDelete, 2);
  node.List({kImage});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  node.RunFor(minutes(1));
  EXPECT_EQ(node.runtime.Leases(), std::vector<std::string>{});
}

TEST(LeaseScenario, ASweepThatCouldNotLookIsRepeated) {
  Node node;
  std::string left = cri::LeasePrefix("a") + "of-an-entry-that-is-gone";
  ASSERT_TRUE(node.runtime.EnsureLease({}, left, hours(24)));
  node.runtime.FailNext(LeaseCall::kList, 2);
  node.List({});
  node.RunFor(minutes(1));
  EXPECT_EQ(node.runtime.Leases(), std::vector<std::string>{});
}

TEST(LeaseScenario, LeasesOfFinishedPullsGoBeforeTheAgent) {
  Node node;
  node.runtime.Push(MakeImage(kImage, kMB));
  node.runtime.FailNext(LeaseCall::kDelete, 1);
  node.List({kImage});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  node.StopAgent();
  EXPECT_EQ(node.runtime.Leases(), std::vector<std::string>{});
}

TEST(LeaseScenario, TheLeaseOfAnInterruptedPullLastsAnHour) {
  Node node;
  StartLongPull(node);
  node.StopAgent();
  node.clock.Advance(minutes(50));
  EXPECT_EQ(node.runtime.Leases(), std::vector<std::string>{Lease()});
  node.clock.Advance(minutes(11));
  EXPECT_EQ(node.runtime.Leases(), std::vector<std::string>{});
}

TEST(LeaseScenario, ALivingAgentKeepsTheLeaseOfALongPull) {
  Node node;
  node.runtime.SetBandwidth(kMB);
  node.runtime.Push(MakeImage(kImage, 6000 * kMB));  // 100 minutes
  node.List({kImage});
  for (int i = 0; i < 19; i++) {
    node.RunFor(minutes(5));
    ASSERT_EQ(node.runtime.Leases(), std::vector<std::string>{Lease()}) << i;
  }
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(10)));
  node.RunFor(seconds(10));
  EXPECT_EQ(node.runtime.Leases(), std::vector<std::string>{});
}

// The wait between two tries is no reason to lose the bytes.
TEST(LeaseScenario, ALivingAgentKeepsTheBytesOfAPullThatFailed) {
  Node node;
  StartLongPull(node);
  node.runtime.SetRegistry(RegistryState::kDown);
  node.RunFor(hours(3));
  EXPECT_EQ(node.runtime.Leases(), std::vector<std::string>{Lease()});
  EXPECT_GT(node.runtime.BytesStored(), 50 * kMB);
}

TEST(LeaseScenario, WrongBytesAreNotKept) {
  Node node;
  node.runtime.SetBandwidth(10 * kMB);
  node.runtime.Push(MakeImage(kImage, 50 * kMB));
  node.runtime.Spoil(kImage, 2);
  node.List({kImage});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  EXPECT_EQ(node.runtime.counters().pull_calls, 3);
  EXPECT_EQ(node.LogLines("wrong bytes discarded"), 2);
  node.RunFor(seconds(10));
  EXPECT_EQ(node.runtime.Leases(), std::vector<std::string>{});
}

// An agent that was killed has left a lease, under which another's pull has ended.
TEST(LeaseScenario, WrongBytesUnderALeaseThatWasLeftAreNoFailure) {
  Node node;
  StartLongPull(node);
  node.runtime.Spoil(kImage, 1);
  node.StopAgent();
  // A pod's pull goes on with them.
  std::jthread theirs([&] { EXPECT_FALSE(node.runtime.PullImage({}, {kImage, std::nullopt, ""})); });
  while (node.runtime.counters().pull_calls < 2) std::this_thread::yield();
  node.clock.Advance(minutes(15));
  theirs.join();
  node.RestartAgent();
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(16)));
  EXPECT_EQ(node.runtime.counters().pull_calls, 3) << "it began by removing them";
}

TEST(LeaseScenario, AMovingPullWithoutALeaseIsNoStall) {
  Node node;
  node.runtime.FailNext(LeaseCall::kEnsure, 1);
  node.runtime.SetBandwidth(kMB);
  node.runtime.Push(MakeImage(kImage, 900 * kMB));
  node.List({kImage});
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(16)));
  EXPECT_EQ(node.LogLines("pull stalled, started anew"), 0);
  EXPECT_EQ(node.LogLines("pull without a lease: an interruption loses its bytes"), 1);
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
}

// 150 minutes of bytes that come.
TEST(LeaseScenario, APullMayTakeAsLongAsItsPullTimeout) {
  Node node;
  node.runtime.SetBandwidth(kMB);
  node.runtime.Push(MakeImage(kImage, 9000 * kMB));
  node.List({kImage}, [](plan::DesiredImage& desired) { desired.pull_timeout = hours(24); });
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, hours(3)));
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
}

}  // namespace
}  // namespace prefetch::tests::lease_scenario_test
