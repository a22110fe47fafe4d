// The list changes while the agent works.
#include <gtest/gtest.h>

#include "scenario/node.h"

namespace prefetch::tests::list_scenario_test {
namespace {

using ListScenario = NodeTest;

TEST_F(ListScenario, WhatStaysGoesOn) {
  node.runtime.SetBandwidth(10 * kMB);
  node.runtime.Push(MakeImage("r.io/a:v1", 300 * kMB));
  node.runtime.Push(MakeImage("r.io/b:v1", 10 * kMB));
  node.List({"r.io/a:v1"});
  node.RunFor(seconds(10));
  node.List({"r.io/b:v1", "r.io/a:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(2)));
  EXPECT_EQ(node.runtime.counters().pull_calls, 2);
}

TEST_F(ListScenario, AChangeStartsItsPullAtOnce) {
  node.List({});
  node.RunFor(minutes(1));
  EXPECT_TRUE(node.Ready());
  node.PushAndList("r.io/a:v1", kMB);
  EXPECT_TRUE(node.RunUntil([&] { return node.runtime.counters().pull_calls == 1; }, milliseconds(200)));
}

TEST_F(ListScenario, OptionalEntriesArePulledAndNotWaitedFor) {
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/gone:v1"}, [](plan::DesiredImage& desired) { desired.required = false; });
  node.RunFor(seconds(10));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.ReasonOf("r.io/gone:v1"), plan::Reason::kNotFound);
}

TEST_F(ListScenario, EntriesOfOtherPlatformsAreLeftAlone) {
  node.List({"r.io/arm:v1"}, [](plan::DesiredImage& desired) {
    desired.nodes.platforms = {{.os = "linux", .architecture = "arm64"}};
  });
  node.RunFor(seconds(10));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.ReasonOf("r.io/arm:v1"), plan::Reason::kOtherPlatform);
  EXPECT_EQ(node.Snapshot()->readiness.required, 0U);
  EXPECT_EQ(node.runtime.counters().pull_calls, 0);
}

// The entry waits no longer, and nothing of its wait wakes the loop.
TEST_F(ListScenario, AnEntryThatWaitsAndIsForOtherPlatformsNowCostsNothing) {
  node.List({"r.io/gone:v1"});
  node.RunFor(minutes(1));
  ASSERT_EQ(node.Image("r.io/gone:v1").pull.state, plan::PullState::kWaiting);
  node.List({"r.io/gone:v1"}, [](plan::DesiredImage& desired) {
    desired.nodes.platforms = {{.os = "linux", .architecture = "arm64"}};
  });
  node.RunFor(seconds(10));
  const std::uint64_t turns = node.Turns();
  node.RunFor(minutes(10));
  EXPECT_LE(node.Turns() - turns, 200U);
}

// One list for all pools; each node keeps what its labels select.
TEST(ListScenarioWithOptions, EntriesOfOtherPoolsAreLeftAloneUntilALabelChanges) {
  Node node({.reads_labels = true});
  node.runtime.Push(MakeImage("r.io/gpu:v1", kMB));
  node.List({"r.io/gpu:v1"}, [](plan::DesiredImage& desired) {
    desired.nodes.node_selector = {{"pool", "gpu"}};
  });
  node.RunFor(seconds(30));
  EXPECT_FALSE(node.Ready()) << "it may be needed here";
  EXPECT_EQ(node.Snapshot()->readiness.phase, plan::Phase::kProgressing);
  EXPECT_EQ(node.ReasonOf("r.io/gpu:v1"), plan::Reason::kFactsUnknown);
  EXPECT_FALSE(node.Image("r.io/gpu:v1").settled) << "worth waiting for";
  node.Labels(image::NodeLabels{{"pool", "ci"}});
  node.RunFor(seconds(2));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.ReasonOf("r.io/gpu:v1"), plan::Reason::kNotSelected);
  EXPECT_EQ(node.Snapshot()->readiness.required, 0U);
  EXPECT_EQ(node.runtime.counters().pull_calls, 0);
  node.Labels(image::NodeLabels{{"pool", "gpu"}});
  EXPECT_TRUE(node.RunUntil([&] { return !node.Ready(); }, seconds(1)));
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  EXPECT_EQ(node.Snapshot()->readiness.required, 1U);
  EXPECT_NE(node.IdOf("r.io/gpu:v1"), "");
  node.Labels(std::nullopt);  // the API server is away
  node.RunFor(seconds(30));
  EXPECT_TRUE(node.Ready()) << "the last known labels count";
  // The image stays, and does not count any more.
  node.Labels(image::NodeLabels{{"pool", "ci"}});
  node.RunFor(seconds(30));
  EXPECT_EQ(node.Snapshot()->readiness.required, 0U);
  EXPECT_NE(node.IdOf("r.io/gpu:v1"), "");
}

// Without an API server nobody can tell whether this node needs it.
TEST_F(ListScenario, EntriesWithANodeSelectorAreNeverReadyWithoutLabels) {
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/a:v1"}, [](plan::DesiredImage& desired) {
    desired.nodes.node_selector = {{"pool", "gpu"}};
  });
  node.RunFor(minutes(1));
  EXPECT_FALSE(node.Ready());
  EXPECT_EQ(node.Snapshot()->readiness.phase, plan::Phase::kFailing);
  EXPECT_EQ(node.ReasonOf("r.io/a:v1"), plan::Reason::kNodeLabelsUnknown);
  EXPECT_TRUE(node.Image("r.io/a:v1").settled);
  EXPECT_HAS(node.Image("r.io/a:v1").message, "cannot read the labels of its Node");
  EXPECT_EQ(node.runtime.counters().pull_calls, 0);
  const std::vector<std::string>& problems = node.Snapshot()->problems;
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0],
            "1 entry has a nodeSelector, and the agent cannot read the labels of its Node: it does not pull "
            "them, and is not ready");
}

// Keeping what is there.

using KeepingScenario = NodeTest;

TEST_F(KeepingScenario, EvictedAgainAndAgainSlowsDownAndSaysSo) {
  node.PushAndList("r.io/a:v1", kMB);
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  // Kubelet's garbage collection takes it every minute, for two hours.
  for (int i = 0; i < 120; i++) {
    if (node.Image("r.io/a:v1").present) node.runtime.Remove("r.io/a:v1");
    node.RunFor(minutes(1));
  }
  EXPECT_LE(node.runtime.counters().pull_calls, 12);
  EXPECT_EQ(node.ReasonOf("r.io/a:v1"), plan::Reason::kEvictedByKubelet);
  EXPECT_FALSE(node.Ready());
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, hours(2)));
}

TEST_F(KeepingScenario, PresentMeansUnderThatName) {
  FakeImage image = MakeImage("r.io/a:v1", kMB);
  node.runtime.Push(image);
  FakeImage other = image;
  other.name = "r.io/other:v1";
  node.runtime.Preload(other);  // the same content
  node.List({"r.io/a:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
  // Another tool gives the name to what is here: a pod with it starts.
  node.runtime.TagLocally(image, "r.io/b:v1");
  node.List({"r.io/a:v1", "r.io/b:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready() && node.Image("r.io/b:v1").ready; }, seconds(10)));
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
}

TEST_F(KeepingScenario, ASecondAgentOnTheSameNodeIsHarmless) {
  node.runtime.SetBandwidth(10 * kMB);
  node.runtime.Push(MakeImage("r.io/a:v1", 200 * kMB));
  node.runtime.Push(MakeImage("r.io/b:v1", 200 * kMB));
  node.List({"r.io/a:v1"});
  node.RunFor(seconds(5));
  // The second one has another list; its sweep must leave the first one's lease alone.
  auto lease = node.runtime.EnsureLease({}, "prefetchd-00000000-of-another-agent", hours(24));
  ASSERT_TRUE(lease);
  node.List({"r.io/a:v1", "r.io/b:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(2)));
  node.RunFor(seconds(30));
  auto leases = node.runtime.ListLeases({});
  ASSERT_TRUE(leases);
  EXPECT_EQ(*leases, std::vector<std::string>{"prefetchd-00000000-of-another-agent"});
}

}  // namespace
}  // namespace prefetch::tests::list_scenario_test
