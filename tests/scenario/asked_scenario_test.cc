// Images that a preflight has asked for, and that are on no list: `prefetchctl check --pull`.
#include <gtest/gtest.h>

#include "plan/check.h"
#include "scenario/node.h"

namespace prefetch::tests::asked_scenario_test {
namespace {

const std::string kAsked = "r.io/asked:v1";

// nullptr: it is not kept in mind.
const plan::ImageState* StateOf(const plan::SnapshotPtr& snapshot, const std::string& name) {
  for (const plan::ImageState& asked : snapshot->requested) {
    if (asked.desired->reference.written() == name) return &asked;
  }
  return nullptr;
}

bool IsHere(const Node& node, const std::string& name) {
  plan::SnapshotPtr snapshot = node.Snapshot();
  const plan::ImageState* state = StateOf(snapshot, name);
  return state != nullptr && state->usable;
}

using AskedScenario = NodeTest;

TEST_F(AskedScenario, ItIsPulledBesideAListThatItDoesNotChange) {
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.runtime.Push(MakeImage(kAsked, 10 * kMB));
  node.List({"r.io/a:v1"});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(30)));
  std::string hash = node.Snapshot()->list.hash;
  node.RequestPull(kAsked);
  ASSERT_TRUE(node.RunUntil([&] { return IsHere(node, kAsked); }, minutes(1)));
  plan::SnapshotPtr snapshot = node.Snapshot();
  EXPECT_EQ(snapshot->images.size(), 1U);
  EXPECT_EQ(snapshot->list.hash, hash);
  EXPECT_EQ(snapshot->readiness.required, 1U);
  EXPECT_EQ(node.LogLines("pull asked for"), 1);
  EXPECT_NE(node.IdOf(kAsked), "");
  // Nobody keeps it: it is one of those that came and are on no list.
  node.RunFor(minutes(1));
  EXPECT_EQ(StateOf(node.Snapshot(), kAsked), nullptr) << "and is forgotten";
  ASSERT_TRUE(node.Snapshot()->unlisted);
  EXPECT_EQ(node.Snapshot()->unlisted->images.size(), 1U);
  node.runtime.Remove(kAsked);
  node.RunFor(minutes(1));
  EXPECT_EQ(node.IdOf(kAsked), "");
  EXPECT_TRUE((*node.runtime.ListLeases({})).empty());
}

// A pod of any account may ask: what the provider gives for one account is not for it.
TEST(AskedScenarioWithOptions, NoAccountsTokenIsUsedForIt) {
  const std::string listed = "reg.example.test/listed:v1", asked = "reg.example.test/asked:v1";
  Node node({.provider_config = tests::ProviderOfAccounts("reg.example.test"), .provider_account = true});
  node.plugins.Knows("reg.example.test", {.auth = {.username = "ci", .password = base::Secret("pw")}});
  for (const std::string& name : {listed, asked}) {
    node.runtime.Push(Private(MakeImage(name, kMB), "ci", "pw"));
  }
  node.List({listed});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(30)));
  const int runs = node.plugins.runs("reg.example.test");
  EXPECT_GT(runs, 0);
  node.RequestPull(asked);
  node.RunFor(seconds(10));
  ASSERT_NE(StateOf(node.Snapshot(), asked), nullptr);
  EXPECT_EQ(StateOf(node.Snapshot(), asked)->reason, plan::Reason::kAccessDenied);
  EXPECT_EQ(node.plugins.runs("reg.example.test"), runs);
  EXPECT_EQ(node.IdOf(asked), "");
}

TEST_F(AskedScenario, NobodyWaitsBeforeItHasBegun) {
  node.List({});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(30)));
  node.runtime.SetRuntimeUp(false);
  node.RunFor(seconds(10));
  node.RequestPull(kAsked);
  node.RunFor(plan::kRequestLifetime + seconds(1));
  node.runtime.Push(MakeImage(kAsked, kMB));
  node.runtime.SetRuntimeUp(true);
  node.RunFor(minutes(5));
  EXPECT_EQ(node.IdOf(kAsked), "");
  EXPECT_EQ(node.runtime.counters().pull_calls, 0);
}

// Requests an image on a node with an empty list. The pull takes a quarter of an hour.
void AskForALargeOne(Node& node) {
  node.runtime.SetBandwidth(50 * kMB);
  node.runtime.Push(MakeImage(kAsked, 50'000 * kMB));
  node.List({});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(30)));
  node.RequestPull(kAsked);
}

TEST_F(AskedScenario, APullThatHasBegunGoesOnWhenWhoAskedHasGone) {
  ASSERT_NO_FATAL_FAILURE(AskForALargeOne(node));
  node.RunFor(2 * plan::kRequestLifetime);
  ASSERT_FALSE(IsHere(node, kAsked));
  ASSERT_TRUE(node.RunUntil([&] { return !node.IdOf(kAsked).empty(); }, minutes(60)));
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
  EXPECT_TRUE(node.Ready());
}

TEST_F(AskedScenario, ADenialIsRememberedAndNotHammered) {
  node.runtime.Push(Private(MakeImage(kAsked, kMB), "ann", "right"));
  node.List({});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(30)));
  for (int i = 0; i < 20; i++) {
    node.RequestPull(kAsked);
    node.RunFor(seconds(5));
  }
  plan::SnapshotPtr snapshot = node.Snapshot();
  const plan::ImageState* state = StateOf(snapshot, kAsked);
  ASSERT_NE(state, nullptr);
  EXPECT_EQ(plan::StateOfRequested(*state), plan::RequestedState::kFailed);
  EXPECT_EQ(state->reason, plan::Reason::kAccessDenied);
  const int pulls = node.runtime.counters().pull_calls;
  EXPECT_GT(pulls, 1) << "whoever asks anew may have mended it";
  EXPECT_LE(pulls, 1 + 3 + 2) << "three requests, and then one a minute";
  EXPECT_TRUE(node.Ready());
  // New credentials change that, for the next who asks.
  node.RunFor(plan::kRequestLifetime);
  node.WriteDockerConfig(R"({"auths":{"r.io":{"username":"ann","password":"right"}}})");
  node.RunFor(seconds(30));
  EXPECT_EQ(node.runtime.counters().pull_calls, pulls);
  node.RequestPull(kAsked);
  EXPECT_TRUE(node.RunUntil([&] { return IsHere(node, kAsked); }, seconds(30)));
}

TEST(AskedScenarioWithOptions, AnEntryOfTheListGoesFirstAndIsPulledOnce) {
  NodeOptions options;
  options.limits.parallel_pulls = 1;
  Node node(options);
  node.runtime.SetBandwidth(50 * kMB);
  std::vector<std::string> names;
  for (int i = 0; i < 6; i++) {
    names.push_back("r.io/a:v" + std::to_string(i));
    node.runtime.Push(MakeImage(names.back(), 1000 * kMB));
  }
  node.List(names);
  ASSERT_TRUE(node.RunUntil([&] { return node.runtime.counters().pull_calls == 1; }, seconds(30)));
  for (int i = 0; i < 100 && !node.Image(names[5]).usable; i++) {
    node.RequestPull(names[5]);
    node.RunFor(seconds(1));
  }
  int here = 0;
  for (const std::string& name : names) here += node.Image(name).usable ? 1 : 0;
  EXPECT_EQ(here, 2) << "the one that was under way, and the one that was asked for";
  EXPECT_TRUE(node.Snapshot()->requested.empty());
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(30)));
  EXPECT_EQ(node.runtime.counters().pull_calls, 6);
}

TEST_F(AskedScenario, AnAgentThatStartsKeepsTheBytesOfOneThatStopped) {
  ASSERT_NO_FATAL_FAILURE(AskForALargeOne(node));
  node.RunFor(seconds(60));
  ASSERT_EQ((*node.runtime.ListLeases({})).size(), 1U);
  node.RestartAgent();
  node.RunFor(minutes(1));
  EXPECT_EQ((*node.runtime.ListLeases({})).size(), 1U) << "it expires by itself, or serves who asks again";
}

TEST_F(AskedScenario, WhatDoesNotFitIsNotPulled) {
  node.runtime.SetBandwidth(50 * kMB);
  node.runtime.Push(MakeImage(kAsked, 50'000 * kMB));
  node.List({});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(30)));
  node.disk = {.known = true, .capacity_bytes = 100'000 * kMB, .available_bytes = 30'000 * kMB};
  node.RunFor(seconds(10));
  node.RequestPull(kAsked);
  EXPECT_TRUE(node.RunUntil(
      [&] {
        plan::SnapshotPtr snapshot = node.Snapshot();
        const plan::ImageState* state = StateOf(snapshot, kAsked);
        return state != nullptr && plan::StateOfRequested(*state) == plan::RequestedState::kFailed &&
               state->reason == plan::Reason::kDiskPressure;
      },
      seconds(14)));
  EXPECT_TRUE(node.Ready());
  EXPECT_FALSE(node.Snapshot()->disk.pressure) << "the list has what it needs";
}

}  // namespace
}  // namespace prefetch::tests::asked_scenario_test
