// The runtime restarts, goes away, comes back.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "rows.h"
#include "scenario/node.h"

namespace prefetch::tests::runtime_scenario_test {
namespace {

using RuntimeScenario = NodeTest;

TEST_F(RuntimeScenario, ARestartInMidPullIsNoFailureAndLosesNoByte) {
  node.runtime.SetBandwidth(10 * kMB);
  node.PushAndList("r.io/a:v1", 500 * kMB);
  node.RunFor(seconds(20));
  node.runtime.Restart();
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(2)));
  EXPECT_LT(node.runtime.counters().bytes_served, 505 * kMB);
  EXPECT_LT(node.Elapsed(), seconds(55));
}

TEST_F(RuntimeScenario, ARestartBetweenTwoLooksIsNoticed) {
  node.runtime.Preload(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/a:v1"});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  node.runtime.SetVersion("2.3.4", {.known = true, .config_path = "/srv/certs.d"});
  node.RunFor(minutes(1));
  ASSERT_NE(node.Snapshot()->runtime.version, "2.3.4");
  ASSERT_NE(node.Snapshot()->runtime.registries.config_path, "/srv/certs.d");
  node.runtime.Restart();
  EXPECT_TRUE(node.RunUntil([&] { return node.Snapshot()->runtime.version == "2.3.4"; }, seconds(8)));
  EXPECT_EQ(node.Snapshot()->runtime.registries.config_path, "/srv/certs.d");
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.LogLines("runtime not reachable"), 0);
}

// The version of the restarted runtime counts, not that of the runtime under which the pull was started.
TEST_F(RuntimeScenario, ARestartUnderAPullIsOneToo) {
  node.runtime.SetBandwidth(10 * kMB);
  node.PushAndList("r.io/a:v1", 500 * kMB);
  node.RunFor(seconds(20));
  node.runtime.SetVersion("2.3.4");
  node.runtime.Restart();
  EXPECT_TRUE(node.RunUntil([&] { return node.Snapshot()->runtime.version == "2.3.4"; }, seconds(2)));
}

// Such as the server that cannot have tokens reviewed. The node is as ready as before.
TEST_F(RuntimeScenario, AProblemOfAComponentIsShownUntilItIsOver) {
  node.runtime.Preload(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/a:v1"});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  node.ReportProblem("reviews", "no token can be reviewed");
  node.ReportProblem("labels", "the labels cannot be read");
  node.ReportProblem("reviews", "no token can be reviewed: denied");
  node.RunFor(seconds(1));
  EXPECT_EQ(node.Snapshot()->problems,
            (std::vector<std::string>{"the labels cannot be read", "no token can be reviewed: denied"}));
  EXPECT_TRUE(node.Ready());
  node.ReportProblem("labels", "");
  node.RunFor(seconds(1));
  EXPECT_EQ(node.Snapshot()->problems, std::vector<std::string>{"no token can be reviewed: denied"});
}

TEST_F(RuntimeScenario, ARuntimeThatIsAwayTakesNothingAway) {
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

// A job that waits for it has an end of its own, which may be far.
TEST(RuntimeScenarioWithOptions, OnceEndsWhenTheRuntimeStaysAway) {
  for (const auto& [away, ends] : {std::pair(minutes(4), false), std::pair(minutes(6), true)}) {
    Node node({.once = true});
    node.runtime.SetRegistry(RegistryState::kStalled);
    node.PushAndList("r.io/a:v1", kMB);
    node.RunFor(seconds(10));
    node.runtime.SetRuntimeUp(false);
    node.RunFor(away);
    EXPECT_EQ(node.EndsByItself(ends ? seconds(20) : seconds(1)), ends);
    EXPECT_EQ(node.Snapshot()->readiness.reason == plan::Reason::kRuntimeDown, ends);
  }
}

TEST_F(RuntimeScenario, ARuntimeThatComesLaterIsFound) {
  node.runtime.SetRuntimeUp(false);
  node.PushAndList("r.io/a:v1", kMB);
  node.RunFor(minutes(10));
  EXPECT_EQ(node.Snapshot()->readiness.reason, plan::Reason::kRuntimeDown);
  node.runtime.SetRuntimeUp(true);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(5)));
  EXPECT_LE(node.LogLines("runtime not reachable"), 2);
}

TEST_F(RuntimeScenario, ARuntimeThatIsNotReadyYetIsWaitedFor) {
  node.runtime.SetReady(false);
  node.PushAndList("r.io/a:v1", kMB);
  node.RunFor(minutes(1));
  EXPECT_EQ(node.Snapshot()->readiness.reason, plan::Reason::kRuntimeDown);
  EXPECT_HAS(node.Snapshot()->readiness.message, "not ready: ContainerdNotReady");
  EXPECT_EQ(node.runtime.counters().pull_calls, 0);
  node.runtime.SetReady(true);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(5)));
}

TEST_F(RuntimeScenario, WhatVanishedWhileTheRuntimeWasAwayIsNoticed) {
  node.PushAndList("r.io/a:v1", kMB);
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  node.runtime.SetRuntimeUp(false);
  node.RunFor(seconds(20));
  node.runtime.Remove("r.io/a:v1");
  node.runtime.SetRuntimeUp(true);
  EXPECT_TRUE(node.RunUntil([&] { return node.LogLines("image vanished") == 1; }, seconds(10)));
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
}

TEST_F(RuntimeScenario, AnImageThatEndsTheRuntimeIsSuspectedAndAllOthersGoOn) {
  node.runtime.SetBandwidth(100 * kMB);
  FakeImage killer = MakeImage("r.io/killer:v1", 50 * kMB);
  killer.ends_runtime = true;
  killer.unpack = seconds(1);
  node.runtime.Push(killer);
  std::vector<std::string> names = {killer.name};
  for (int i = 0; i < 20; i++) {
    names.push_back("r.io/app" + std::to_string(i) + ":v1");
    FakeImage image = MakeImage(names.back(), 100 * kMB);
    image.unpack = seconds(5);
    node.runtime.Push(image);
  }
  node.List(names);
  bool others = node.RunUntil(
      [&] {
        return std::all_of(names.begin() + 1, names.end(),
                           [&](const std::string& name) { return node.Image(name).ready; });
      },
      minutes(5));
  EXPECT_TRUE(others) << node.Elapsed();
  node.RunFor(hours(1) - node.Elapsed());
  RecordProperty("pulls", node.Image(killer.name).pull.attempts);
  EXPECT_LE(node.Image(killer.name).pull.attempts, 6);
  EXPECT_EQ(node.ReasonOf(killer.name), plan::Reason::kRuntimeCrashed);
  EXPECT_HAS(node.Image(killer.name).message, "suspected of ending the container runtime");
  EXPECT_TRUE(node.Image(killer.name).settled);
  // The image is repaired.
  killer.ends_runtime = false;
  node.runtime.Push(killer);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, hours(2)));
}

// Two of them, which end it at different moments. Nobody tells which of the pulls at the time it was.
TEST_TABLE(TwoKillersTest, AreBothSuspectedAndAllOthersGoOn, std::pair<int, int>) {
  Node node;
  node.runtime.SetBandwidth(100 * kMB);
  std::vector<std::string> killers, others, names;
  for (int i = 0; i < 22; i++) {
    const bool kills = i == row.first || i == row.second;
    FakeImage image = MakeImage("r.io/app" + std::to_string(i) + ":v1", kills ? 50 * kMB : 100 * kMB);
    image.ends_runtime = kills;
    image.unpack = kills ? seconds(1 + 2 * static_cast<int>(killers.size())) : seconds(5);
    node.runtime.Push(image);
    (kills ? killers : others).push_back(image.name);
    names.push_back(image.name);
  }
  node.List(names);
  EXPECT_TRUE(node.RunUntil(
      [&] {
        return std::all_of(others.begin(), others.end(),
                           [&](const std::string& name) { return node.Image(name).ready; });
      },
      hours(1)));
  RecordProperty("seconds", static_cast<int>(node.Elapsed() / seconds(1)));
  EXPECT_LE(node.Elapsed(), minutes(3));
  node.RunFor(hours(2) - node.Elapsed());
  for (const std::string& name : killers) {
    EXPECT_LE(node.Image(name).pull.attempts, 10) << name;
    EXPECT_EQ(node.ReasonOf(name), plan::Reason::kRuntimeCrashed) << name;
    EXPECT_HAS(node.Image(name).message, "suspected of ending the container runtime");
    EXPECT_TRUE(node.Image(name).settled) << name;
  }
}
TEST_ROWS(All, TwoKillersTest, {0, 1}, {0, 7}, {2, 3}, {0, 21});

// Each pull of the long image brings bytes, so it is not the image that ends the runtime again and again.
TEST_F(RuntimeScenario, ThreeRestartsWithinOneLongPullSlowNothing) {
  node.runtime.SetBandwidth(40 * kMB);
  node.runtime.Push(MakeImage("r.io/long:v1", 24'000 * kMB));  // ten minutes
  node.runtime.Push(MakeImage("r.io/short:v1", 400 * kMB));
  node.List({"r.io/long:v1", "r.io/short:v1"});
  for (int i = 0; i < 3; i++) {
    node.RunFor(seconds(100));
    node.runtime.Restart();
  }
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(330)));
  EXPECT_EQ(node.Image("r.io/long:v1").pull.attempts, 4);
  EXPECT_LT(node.runtime.counters().bytes_served, 24'500 * kMB);
}

TEST_F(RuntimeScenario, ARuntimeThatIsRestartedNowAndThenSuspectsNobody) {
  node.runtime.SetBandwidth(40 * kMB);
  std::vector<std::string> names = Numbered("r.io/app", 4);
  for (const std::string& name : names) node.runtime.Push(MakeImage(name, 1000 * kMB));
  node.List(names);
  node.RunFor(seconds(40));
  node.runtime.Restart();
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(65)));
  for (const std::string& name : names) EXPECT_EQ(node.Image(name).pull.attempts, 2) << name;
}

TEST_F(RuntimeScenario, ASteadyNodeIsSilentForADay) {
  node.PushAndList("r.io/a:v1", kMB);
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  node.log.clear();
  int lists = node.runtime.counters().list_calls;
  const std::uint64_t turns = node.Turns();
  node.RunFor(hours(24));
  EXPECT_TRUE(node.log.empty()) << node.log.front();
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
  EXPECT_LE(node.runtime.counters().list_calls - lists, 24 * 3600 / 7 + 2);
  EXPECT_LE(node.Turns() - turns, 24 * 3600 / 8 + 10U) << "a look that brings nothing new is no turn";
}

}  // namespace
}  // namespace prefetch::tests::runtime_scenario_test
