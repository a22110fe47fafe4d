// The list changes while the agent works.
#include <gtest/gtest.h>

#include "scenario/node.h"

namespace prefetch::tests::list_scenario_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
constexpr std::uint64_t kMB = 1'000'000;

TEST(ListScenario, AnEntryThatGoesIsCancelledAndItsBytesGo) {
  Node node;
  node.runtime.SetBandwidth(10 * kMB);
  node.runtime.Push(MakeImage("r.io/a:v1", 1000 * kMB));
  node.runtime.Push(MakeImage("r.io/b:v1", 10 * kMB));
  node.List({"r.io/a:v1"});
  node.RunFor(seconds(10));
  node.List({"r.io/b:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(20)));
  node.RunFor(seconds(10));
  EXPECT_LT(node.runtime.BytesStored(), 20 * kMB);
}

TEST(ListScenario, WhatStaysGoesOn) {
  Node node;
  node.runtime.SetBandwidth(10 * kMB);
  node.runtime.Push(MakeImage("r.io/a:v1", 300 * kMB));
  node.runtime.Push(MakeImage("r.io/b:v1", 10 * kMB));
  node.List({"r.io/a:v1"});
  node.RunFor(seconds(10));
  node.List({"r.io/b:v1", "r.io/a:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(2)));
  EXPECT_EQ(node.runtime.counters().pull_calls, 2);
}

TEST(ListScenario, AChangeStartsItsPullAtOnce) {
  Node node;
  node.List({});
  node.RunFor(minutes(1));
  EXPECT_TRUE(node.Ready());
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/a:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.runtime.counters().pull_calls == 1; }, milliseconds(200)));
}

TEST(ListScenario, OptionalEntriesArePulledAndNotWaitedFor) {
  Node node;
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/gone:v1"}, [](plan::DesiredImage& desired) { desired.required = false; });
  node.RunFor(seconds(10));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.ReasonOf("r.io/gone:v1"), plan::Reason::kNotFound);
}

TEST(ListScenario, EntriesOfOtherPlatformsAreLeftAlone) {
  Node node;
  node.List({"r.io/arm:v1"}, [](plan::DesiredImage& desired) {
    desired.nodes.platforms = {{.os = "linux", .architecture = "arm64"}};
  });
  node.RunFor(seconds(10));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.runtime.counters().pull_calls, 0);
}

// What it waited for is over, and nothing of it wakes the loop.
TEST(ListScenario, AnEntryThatWaitsAndIsForOtherPlatformsNowCostsNothing) {
  Node node;
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
TEST(ListScenario, EntriesOfOtherPoolsAreLeftAloneUntilALabelChanges) {
  NodeOptions options;
  options.reads_labels = true;
  Node node(std::move(options));
  node.runtime.Push(MakeImage("r.io/gpu:v1", kMB));
  node.List({"r.io/gpu:v1"}, [](plan::DesiredImage& desired) {
    desired.nodes.node_selector = {{"pool", "gpu"}};
  });
  node.RunFor(seconds(30));
  EXPECT_FALSE(node.Ready()) << "it may be needed here";
  EXPECT_EQ(node.Snapshot()->readiness.phase, plan::Phase::kProgressing);
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
TEST(ListScenario, EntriesWithANodeSelectorAreNeverReadyWithoutLabels) {
  Node node;
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/a:v1"}, [](plan::DesiredImage& desired) {
    desired.nodes.node_selector = {{"pool", "gpu"}};
  });
  node.RunFor(minutes(1));
  EXPECT_FALSE(node.Ready());
  EXPECT_EQ(node.Snapshot()->readiness.phase, plan::Phase::kFailing);
  EXPECT_EQ(node.runtime.counters().pull_calls, 0);
  const std::vector<std::string>& problems = node.Snapshot()->problems;
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0],
            "1 entry has a nodeSelector, and the agent cannot read the labels of its Node: it does not pull "
            "them, and is not ready");
}

}  // namespace
}  // namespace prefetch::tests::list_scenario_test
