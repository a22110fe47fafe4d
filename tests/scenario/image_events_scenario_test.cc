// The agent soon looks at images that a runtime reports, however few or many reports there are.
#include <gtest/gtest.h>

#include "scenario/node.h"

namespace prefetch::tests::image_events_scenario_test {
namespace {

// A node with one image that is ready, and that no registry has any more.
void Start(Node& node) {
  node.runtime.Preload(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/a:v1"});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  node.RunFor(minutes(1) + milliseconds(100));  // just after a look
}

TEST(ImageEventsScenario, ARemovedImageIsMissedWithinASecond) {
  for (Persona persona : {Persona::kContainerd16, Persona::kContainerd23}) {
    Node node({.persona = persona});
    Start(node);
    node.runtime.Remove("r.io/a:v1");
    EXPECT_TRUE(node.RunUntil([&] { return !node.Ready(); }, seconds(1)));
  }
}

TEST(ImageEventsScenario, ARuntimeThatTellsNothingIsLookedAtEveryEightSeconds) {
  Node node({.persona = Persona::kCrio});
  Start(node);
  node.runtime.Remove("r.io/a:v1");
  EXPECT_FALSE(node.RunUntil([&] { return !node.Ready(); }, seconds(1)));
  EXPECT_TRUE(node.RunUntil([&] { return !node.Ready(); }, seconds(8)));
}

TEST(ImageEventsScenario, WhatSomebodyBringsIsThereWithinASecond) {
  Node node;
  Start(node);
  node.List({"r.io/a:v1", "r.io/b:v1"});
  node.RunFor(minutes(1));
  ASSERT_FALSE(node.Ready());
  node.runtime.Preload(MakeImage("r.io/b:v1", kMB));
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(1)));
}

TEST(ImageEventsScenario, AQuietNodeIsLookedAtAsBefore) {
  Node node;
  Start(node);
  const int before = node.runtime.counters().list_calls;
  node.RunFor(hours(1));
  EXPECT_LE(node.runtime.counters().list_calls - before, 451);
}

TEST(ImageEventsScenario, AFloodIsLookedAtTwiceASecond) {
  Node node;
  Start(node);
  const int before = node.runtime.counters().list_calls;
  const FakeImage other = MakeImage("r.io/other:v1", kMB);
  for (int i = 0; i < 6000; i++) {
    node.runtime.Preload(other);
    node.RunFor(milliseconds(10));
  }
  EXPECT_LE(node.runtime.counters().list_calls - before, 122);
  EXPECT_GE(node.runtime.counters().list_calls - before, 100) << "it does not wait for the end of the flood";
  node.runtime.Remove("r.io/a:v1");
  EXPECT_TRUE(node.RunUntil([&] { return !node.Ready(); }, seconds(1)));
}

}  // namespace
}  // namespace prefetch::tests::image_events_scenario_test
