// The runtime restarts, goes away, comes back.
#include <gtest/gtest.h>

#include "scenario/node.h"

namespace prefetch::tests::runtime_scenario_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
constexpr std::uint64_t kMB = 1'000'000;

TEST(RuntimeScenario, ARestartInMidPullIsNoFailureAndLosesNoByte) {
  Node node;
  node.runtime.SetBandwidth(10 * kMB);
  node.runtime.Push(MakeImage("r.io/a:v1", 500 * kMB));
  node.List({"r.io/a:v1"});
  node.RunFor(seconds(20));
  node.runtime.Restart();
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(2)));
  EXPECT_LT(node.runtime.counters().bytes_served, 505 * kMB);
  EXPECT_LT(node.Elapsed(), seconds(55));
}

TEST(RuntimeScenario, ARuntimeThatIsAwayTakesNothingAway) {
  Node node;
  node.runtime.Preload(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/a:v1"});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  node.runtime.SetRuntimeUp(false);
  node.RunFor(minutes(4));
  EXPECT_TRUE(node.Ready());
  EXPECT_FALSE(node.Snapshot()->runtime.up);
  EXPECT_TRUE(node.Image("r.io/a:v1").present);
  node.RunFor(minutes(2));
  EXPECT_FALSE(node.Ready());
  EXPECT_EQ(node.Snapshot()->readiness.reason, plan::Reason::kRuntimeDown);
  node.runtime.SetRuntimeUp(true);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(3)));
  EXPECT_EQ(node.LogLines("image vanished"), 0);
}

TEST(RuntimeScenario, ARuntimeThatComesLaterIsFound) {
  Node node;
  node.runtime.SetRuntimeUp(false);
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/a:v1"});
  node.RunFor(minutes(10));
  EXPECT_EQ(node.Snapshot()->readiness.reason, plan::Reason::kRuntimeDown);
  node.runtime.SetRuntimeUp(true);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(5)));
  EXPECT_LE(node.LogLines("runtime not reachable"), 2);
}

TEST(RuntimeScenario, ARuntimeThatIsNotReadyYetIsWaitedFor) {
  Node node;
  node.runtime.SetReady(false);
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/a:v1"});
  node.RunFor(minutes(1));
  EXPECT_EQ(node.Snapshot()->readiness.reason, plan::Reason::kRuntimeDown);
  EXPECT_NE(node.Snapshot()->readiness.message.find("not ready: ContainerdNotReady"), std::string::npos);
  EXPECT_EQ(node.runtime.counters().pull_calls, 0);
  node.runtime.SetReady(true);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(5)));
}

TEST(RuntimeScenario, WhatVanishedWhileTheRuntimeWasAwayIsNoticed) {
  Node node;
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/a:v1"});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  node.runtime.SetRuntimeUp(false);
  node.RunFor(seconds(20));
  node.runtime.Remove("r.io/a:v1");
  node.runtime.SetRuntimeUp(true);
  EXPECT_TRUE(node.RunUntil([&] { return node.LogLines("image vanished") == 1; }, seconds(10)));
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
}

TEST(RuntimeScenario, ASteadyNodeIsSilentForADay) {
  Node node;
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/a:v1"});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  node.log.clear();
  int lists = node.runtime.counters().list_calls;
  node.RunFor(hours(24));
  EXPECT_TRUE(node.log.empty()) << node.log.front();
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
  EXPECT_LE(node.runtime.counters().list_calls - lists, 24 * 3600 / 7 + 2);
}

}  // namespace
}  // namespace prefetch::tests::runtime_scenario_test
