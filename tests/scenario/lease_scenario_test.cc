// Leases: their ends, and the content that they keep.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "rows.h"
#include "scenario/node.h"

namespace prefetch::tests::lease_scenario_test {
namespace {

using plan::Reason;

const std::string kImage = "r.io/a:v1";

std::string Lease() {
  return cri::LeaseFor("a", *image::Reference::Parse(kImage));
}

// A pull of 900 s.
void StartLongPull(Node& node) {
  node.runtime.SetBandwidth(kMB);
  node.PushAndList(kImage, 900 * kMB);
  node.RunFor(minutes(1));
  ASSERT_EQ(node.runtime.Leases(), std::vector<std::string>{Lease()});
}

using LeaseScenario = NodeTest;

TEST_F(LeaseScenario, WhatSomebodyElseBringsNeedsNoLease) {
  StartLongPull(node);
  node.runtime.SetRegistry(RegistryState::kDown);
  node.RunFor(seconds(5));
  node.runtime.Preload(*node.runtime.InRegistry(kImage));
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  node.RunFor(minutes(1));
  EXPECT_EQ(node.runtime.Leases(), std::vector<std::string>{});
}

TEST_F(LeaseScenario, ALeaseThatCouldNotBeDeletedIsTriedAgain) {
  node.runtime.Push(MakeImage(kImage, kMB));
  node.runtime.FailNext(LeaseCall::kDelete, 2);
  node.List({kImage});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  node.RunFor(minutes(1));
  EXPECT_EQ(node.runtime.Leases(), std::vector<std::string>{});
}

TEST_F(LeaseScenario, ASweepThatCouldNotLookIsRepeated) {
  std::string left = cri::LeasePrefix("a") + "of-an-entry-that-is-gone";
  ASSERT_TRUE(node.runtime.EnsureLease({}, left, hours(24)));
  node.runtime.FailNext(LeaseCall::kList, 2);
  node.List({});
  node.RunFor(minutes(1));
  EXPECT_EQ(node.runtime.Leases(), std::vector<std::string>{});
}

TEST_F(LeaseScenario, LeasesOfFinishedPullsGoBeforeTheAgent) {
  node.runtime.Push(MakeImage(kImage, kMB));
  node.runtime.FailNext(LeaseCall::kDelete, 1);
  node.List({kImage});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  node.StopAgent();
  EXPECT_EQ(node.runtime.Leases(), std::vector<std::string>{});
}

TEST_F(LeaseScenario, TheLeaseOfAnInterruptedPullLastsAnHour) {
  StartLongPull(node);
  node.StopAgent();
  node.clock.Advance(minutes(50));
  EXPECT_EQ(node.runtime.Leases(), std::vector<std::string>{Lease()});
  node.clock.Advance(minutes(11));
  EXPECT_EQ(node.runtime.Leases(), std::vector<std::string>{});
}

TEST_F(LeaseScenario, APullThatTakesAsLongAsItsPullTimeoutKeepsItsLease) {
  node.runtime.SetBandwidth(kMB);
  node.PushAndList(kImage, 9000 * kMB,  // 150 minutes
                   [](plan::DesiredImage& desired) { desired.pull_timeout = hours(24); });
  for (int i = 0; i < 29; i++) {
    node.RunFor(minutes(5));
    ASSERT_EQ(node.runtime.Leases(), std::vector<std::string>{Lease()}) << i;
  }
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(10)));
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
  node.RunFor(seconds(10));
  EXPECT_EQ(node.runtime.Leases(), std::vector<std::string>{});
}

// The wait between two tries is no reason to lose the bytes.
TEST_F(LeaseScenario, ALivingAgentKeepsTheBytesOfAPullThatFailed) {
  StartLongPull(node);
  node.runtime.SetRegistry(RegistryState::kDown);
  node.RunFor(hours(3));
  EXPECT_EQ(node.runtime.Leases(), std::vector<std::string>{Lease()});
  EXPECT_GT(node.runtime.BytesStored(), 50 * kMB);
}

TEST_F(LeaseScenario, WrongBytesAreNotKept) {
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

// The runtime would ask for the rest at each pull, a pod's too.
TEST_F(LeaseScenario, BytesBehindWhichTheRegistrySendsNoMoreAreNotKept) {
  StartLongPull(node);
  node.StopAgent();
  ASSERT_GT(node.runtime.BytesStored(), 0U);
  node.runtime.Fail(kImage, image::ErrorClass::kRangeRefused);
  node.RestartAgent();
  node.RunFor(seconds(10));
  EXPECT_EQ(node.ReasonOf(kImage), plan::Reason::kServerError);
  EXPECT_LT(node.runtime.BytesStored(), 10'000U) << "but for the image's documents";
}

// An agent that was killed has left a lease, under which another's pull has ended.
TEST_F(LeaseScenario, WrongBytesUnderALeaseThatWasLeftAreNoFailure) {
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

TEST_F(LeaseScenario, AMovingPullWithoutALeaseIsNoStall) {
  node.runtime.FailNext(LeaseCall::kEnsure, 1);
  node.runtime.SetBandwidth(kMB);
  node.PushAndList(kImage, 900 * kMB);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(16)));
  EXPECT_EQ(node.LogLines("pull stalled, started anew"), 0);
  EXPECT_EQ(node.LogLines("pull without a lease: an interruption loses its bytes"), 1);
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
}

// Images that nobody has pulled: `ctr images import`, `kind load`, archives for nodes without a network.

const std::string kTag = "r.io/a:v1";

// A node without a network.
TEST_TABLE(ImportScenario, AnImportedImageIsThere, Persona) {
  Node node({.persona = row});
  node.runtime.SetRegistry(RegistryState::kDown);
  node.runtime.Import(MakeImage(kTag, kMB));
  node.runtime.Import(MakeImage("r.io/packed:v1", kMB), false);
  node.List({kTag, "r.io/packed:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  EXPECT_EQ(node.ReasonOf(kTag), Reason::kPresent);
  node.RunFor(hours(2));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.runtime.counters().pull_calls, 0);
  node.runtime.Remove(kTag);
  EXPECT_TRUE(node.RunUntil([&] { return !node.Ready(); }, seconds(10)));
  node.runtime.Import(MakeImage(kTag, kMB));
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
}

// One pull brings the digest to compare with, and most of its bytes are here already.
TEST_P(ImportScenario, TheRegistrysTagIsFollowedFromAnImportedImageOn) {
  Node node({.persona = GetParam()});
  FakeImage image = MakeImage(kTag, 100 * kMB);
  node.runtime.Import(image);
  node.runtime.Push(image);
  node.List({kTag}, Refreshed);
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  EXPECT_TRUE(node.RunUntil([&] { return node.Image(kTag).registry->fresh; }, hours(2)));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.Image(kTag).digest, image.digest);
  node.RunFor(hours(12));
  EXPECT_LE(node.runtime.counters().pull_calls, 1);
  EXPECT_LT(node.runtime.counters().bytes_served, kMB);
  EXPECT_EQ(node.Image(kTag).registry->changed_from, "") << "it is the same image";
  EXPECT_EQ(node.LogLines("tag changed") + node.LogLines("image replaced"), 0);
}

// The registry answers, and cannot be pulled from.
TEST_P(ImportScenario, AnImageThatCannotBeComparedStaysInUseWithoutALoopOfPulls) {
  Node node({.persona = GetParam()});
  node.runtime.Import(MakeImage(kTag, kMB));
  node.runtime.Push(MakeImage(kTag, 2 * kMB));
  node.runtime.Fail(kTag, image::ErrorClass::kServerError);
  node.List({kTag}, Refreshed);
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  node.RunFor(hours(12));
  EXPECT_TRUE(node.Ready());
  EXPECT_FALSE(node.Image(kTag).registry->fresh);
  EXPECT_NE(node.Image(kTag).registry->message, "") << "why it is not known to be current";
  EXPECT_LE(node.runtime.counters().pull_calls, 400) << "as of every update that fails";
}

// Somebody has removed what it is made of. An agent says the same as the one before it.
TEST(PackedScenario, WhatCannotStartIsNotReadyWhicheverAgentLooks) {
  Node node;
  const FakeImage image = MakeImage(kTag, kMB);
  node.runtime.Preload(image);
  node.runtime.LoseSnapshot(kTag);
  node.List({kTag});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10))) << "all of its content is here";
  node.RestartAgent();
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  node.StopAgent();
  node.runtime.LoseLayers(kTag);
  for (int agents = 0; agents < 2; agents++) {
    node.RestartAgent();
    node.RunFor(minutes(1));
    EXPECT_FALSE(node.Ready());
    EXPECT_EQ(node.ReasonOf(kTag), Reason::kNotFound) << "nobody has pushed it";
  }
  node.runtime.Push(image);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, hours(1)));
}

// Its layers are none: no container can start from it.
TEST_TABLE(ArtifactScenario, WhatAFailedPullLeavesIsNoImageUntilOneIsImported, Persona) {
  Node node({.persona = row});
  FakeImage chart = MakeImage("r.io/chart:v1", kMB);
  chart.unpackable = false;
  node.runtime.Push(chart);
  node.List({"r.io/chart:v1"});
  node.RunFor(minutes(10));
  EXPECT_FALSE(node.Ready());
  FakeImage image = MakeImage("r.io/chart:v1", 2 * kMB);
  node.runtime.SetRegistry(RegistryState::kDown);
  node.runtime.Import(image);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
}

// The content that makes it whole changes nothing in the runtime's list.
TEST_P(ArtifactScenario, ContentThatComesLaterIsNoticed) {
  Node node({.persona = GetParam()});
  node.runtime.SetRegistry(RegistryState::kDown);
  FakeImage image = MakeImage(kTag, kMB);
  image.unpackable = false;
  node.runtime.Import(image);
  node.List({kTag});
  node.RunFor(minutes(1));
  EXPECT_FALSE(node.Ready());
  EXPECT_FALSE(node.Image(kTag).present);
  image.unpackable = true;
  node.runtime.Import(image);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
}

TEST_ROWS(Personas, ArtifactScenario, Persona::kContainerd16, Persona::kContainerd23);

TEST_ROWS(Personas, ImportScenario, Persona::kContainerd16, Persona::kContainerd23, Persona::kCrio);

}  // namespace
}  // namespace prefetch::tests::lease_scenario_test
