// Pulling: from an empty node to ready.
#include <gtest/gtest.h>

#include "scenario/mid_pull.h"
#include "scenario/node.h"

namespace prefetch::tests::pull_scenario_test {
namespace {

std::vector<std::string> PushMany(Node& node, int count, std::uint64_t bytes) {
  std::vector<std::string> names = Numbered("r.io/team/app", count);
  for (const std::string& name : names) node.runtime.Push(MakeImage(name, bytes));
  return names;
}

using PullScenario = NodeTest;

TEST_F(PullScenario, AnEmptyNodeBecomesReady) {
  node.runtime.SetBandwidth(50 * kMB);
  node.List(PushMany(node, 10, 100 * kMB));
  EXPECT_FALSE(node.Ready());
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(5)));
  EXPECT_NEAR(std::chrono::duration<double>(node.Elapsed()).count(), 20, 1);
  EXPECT_EQ(node.runtime.counters().pull_calls, 10);
  EXPECT_EQ(node.LogLines("node ready"), 1);
}

TEST_F(PullScenario, AWarmNodeIsReadyAfterOneLookAndAsksNoRegistry) {
  std::vector<std::string> names = Numbered("r.io/app", 100);
  for (const std::string& name : names) node.runtime.Preload(MakeImage(name, kMB));
  node.List(names);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(1)));
  FakeCounters counters = node.runtime.counters();
  EXPECT_LE(counters.list_calls, 2);  // one for the empty list at the very start, one for this one
  EXPECT_EQ(counters.pull_calls, 0);
  EXPECT_EQ(counters.registry_requests, 0);
}

TEST_F(PullScenario, FourAtATimeThenTwo) {
  node.runtime.SetBandwidth(kMB);
  std::vector<std::string> names = PushMany(node, 8, 10 * kMB);
  node.List(names);
  node.RunFor(seconds(5));
  EXPECT_EQ(node.runtime.Parked(), 4);
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(10)));
  for (const std::string& name : names) node.runtime.Remove(name);
  node.RunFor(seconds(15));
  EXPECT_EQ(node.runtime.Parked(), 2);
}

// The bytes of a pull are here, and the runtime is slow to say what came: its place is free for a second.
TEST_F(PullScenario, APullThatIsOnlyLookedAtLeavesItsPlaceForAMoment) {
  node.runtime.SetBandwidth(10 * kMB);
  node.List(PushMany(node, 20, 10 * kMB));
  node.runtime.LookTakes(minutes(1));
  node.RunFor(milliseconds(3900));
  EXPECT_EQ(node.runtime.counters().pull_calls, 4);
  node.RunFor(milliseconds(200));
  EXPECT_EQ(node.runtime.counters().pull_calls, 8) << "four are looked at, four begin";
  node.RunFor(seconds(20));
  EXPECT_EQ(node.runtime.counters().pull_calls, 8) << "nothing piles up behind a runtime that hangs";
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(10)));
}

// The runtime has pulled an image, and its disk is too busy for the question what came.
TEST_F(PullScenario, APullAfterWhichTheRuntimeIsSlowIsNoFailure) {
  node.runtime.LooksTimeOut(3);
  const std::vector<std::string> names = PushMany(node, 3, kMB);
  node.List(names);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(20)));
  EXPECT_EQ(node.runtime.counters().pull_calls, 3);
  for (const std::string& name : names) EXPECT_EQ(node.Image(name).pull.last_error, "") << name;
}

// A look costs the runtime a search through its store.
TEST_F(PullScenario, PullsThatAreOverAtOnceAreNotLookedAt) {
  node.runtime.SetBandwidth(50 * kMB);
  std::vector<std::string> names = PushMany(node, 40, 2 * kMB);  // 160 ms each, four at a time
  node.List({});
  node.RunFor(seconds(5));  // what an agent before has left is looked for, and looked at
  node.List(names);
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  const int before = node.runtime.counters().progress_calls;
  EXPECT_LE(before, 4)
      << "a new list is also a search for leftovers, which may find the leases of the first four";
  node.runtime.Push(MakeImage("r.io/large:v1", 500 * kMB));
  names.emplace_back("r.io/large:v1");
  node.List(names);
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  const int calls = node.runtime.counters().progress_calls - before;
  EXPECT_GE(calls, 12);
  EXPECT_LE(calls, 18) << "each 250 ms for 3 s, each 2 s afterwards";
}

TEST_F(PullScenario, PriorityGoesFirst) {
  node.runtime.SetBandwidth(10 * kMB);
  std::vector<std::string> names = PushMany(node, 6, 100 * kMB);
  node.List(names, [&](plan::DesiredImage& desired) {
    desired.priority = desired.reference.Normalized() == names[5] ? 10 : 0;
  });
  ASSERT_TRUE(node.RunUntil([&] { return node.Image(names[5]).ready; }, minutes(5)));
  EXPECT_FALSE(node.Image(names[3]).ready) << "four at a time";
}

TEST_F(PullScenario, WrongOnesDelayNobodyAndAreNotHammered) {
  node.runtime.SetBandwidth(50 * kMB);
  std::vector<std::string> names = {"r.io/gone:v1", "r.io/private:v1"};
  node.runtime.Push(Private(MakeImage("r.io/private:v1", kMB), "u", "p"));
  for (const std::string& name : PushMany(node, 10, 100 * kMB)) names.push_back(name);
  node.List(names);
  ASSERT_TRUE(node.RunUntil([&] { return node.Image(names.back()).ready; }, minutes(2)));
  EXPECT_NEAR(std::chrono::duration<double>(node.Elapsed()).count(), 20, 1);
  EXPECT_EQ(node.ReasonOf("r.io/gone:v1"), plan::Reason::kNotFound);
  EXPECT_EQ(node.ReasonOf("r.io/private:v1"), plan::Reason::kAccessDenied);
  EXPECT_EQ(node.Snapshot()->readiness.phase, plan::Phase::kFailing);
  int calls = node.runtime.counters().pull_calls;
  EXPECT_EQ(calls, 12);
  node.RunFor(minutes(4));
  EXPECT_EQ(node.runtime.counters().pull_calls, calls);
  node.RunFor(minutes(60));
  EXPECT_LE(node.runtime.counters().pull_calls, calls + 2 * 4);
}

TEST_F(PullScenario, ATrickleOfTwelveMinutesSurvives) {
  node.runtime.SetBandwidth(100'000);
  node.runtime.Push(MakeImage("r.io/slow:v1", 72 * kMB));  // 720 s
  node.List({"r.io/slow:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(15)));
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
}

TEST_F(PullScenario, AnUnpackOfFiveMinutesSurvives) {
  node.runtime.SetBandwidth(100 * kMB);
  FakeImage image = MakeImage("r.io/big:v1", 100 * kMB);
  image.unpack = minutes(15);
  node.runtime.Push(image);
  node.List({"r.io/big:v1"});
  node.RunFor(minutes(5));
  EXPECT_EQ(node.ReasonOf("r.io/big:v1"), plan::Reason::kUnpacking);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(20)));
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
}

// All places are taken by a slow registry when the list gets an image of another one.
TEST_F(PullScenario, AnImageOfAnotherRegistryThatIsAddedLaterDoesNotWait) {
  node.runtime.SetBandwidth(kMB);
  std::vector<std::string> names;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    names.push_back("r.io/" + std::string(name) + ":v1");
    node.runtime.Push(MakeImage(names.back(), 900 * kMB));
  }
  node.List(names);
  node.RunFor(minutes(1));
  names.emplace_back("q.io/small:v1");
  node.runtime.Push(MakeImage(names.back(), kMB));
  node.List(names);
  EXPECT_TRUE(node.RunUntil([&] { return node.Image("q.io/small:v1").ready; }, minutes(1)));
  EXPECT_FALSE(node.Image(names.front()).ready);
}

TEST_F(PullScenario, AStallIsReplacedAndNoByteIsLost) {
  node.runtime.SetBandwidth(10 * kMB);
  node.PushAndList("r.io/a:v1", 1000 * kMB);
  node.RunFor(seconds(50));
  node.runtime.SetRegistry(RegistryState::kStalled);
  node.RunFor(minutes(9));
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
  node.RunFor(minutes(2));
  EXPECT_EQ(node.runtime.counters().pull_calls, 2);
  EXPECT_EQ(node.LogLines("pull stalled, started anew"), 1);
  node.runtime.SetRegistry(RegistryState::kUp);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(30)));
  EXPECT_LT(node.runtime.counters().bytes_served, 1010 * kMB);
  agent::Samples counts = node.Metrics().Copy();
  auto pulls = [&](agent::PullResult result, const agent::Label& reason) {
    return counts.At("prefetchd_pulls_total", {result, reason}).value;
  };
  EXPECT_GE(pulls(agent::PullResult::kCancelled, plan::Reason::kStalled), 1);
  EXPECT_EQ(pulls(agent::PullResult::kSucceeded, "None"), 1);
}

TEST(PullScenarioWithOptions, WithoutSightOnlyThePullTimeoutEndsAPull) {
  Node node({.persona = Persona::kCrio});
  node.runtime.SetBandwidth(kMB);
  node.runtime.Push(MakeImage("r.io/a:v1", 3000 * kMB));  // 50 minutes
  node.List({"r.io/a:v1"}, [](plan::DesiredImage& desired) { desired.pull_timeout = minutes(20); });
  node.RunFor(minutes(19));
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
  EXPECT_FALSE(node.Image("r.io/a:v1").pull.bytes_known);
  node.RunFor(minutes(3));
  EXPECT_GE(node.runtime.counters().pull_calls, 2);
  EXPECT_EQ(node.LogLines("pull failed"), 1);
  agent::Samples counts = node.Metrics().Copy();
  const agent::Label failed = agent::PullResult::kFailed, timeout = plan::Reason::kTimeout;
  EXPECT_EQ(counts.At("prefetchd_pulls_total", {failed, timeout}).value, 1);
}

TEST_F(PullScenario, BytesAreShown) {
  node.runtime.SetBandwidth(10 * kMB);
  node.PushAndList("r.io/a:v1", 1000 * kMB);
  node.RunFor(seconds(40));
  const plan::ImageState& image = node.Image("r.io/a:v1");
  EXPECT_TRUE(image.pull.bytes_known);
  EXPECT_NEAR(static_cast<double>(image.pull.bytes_total), 1e9, 1e7);
  EXPECT_NEAR(static_cast<double>(image.pull.bytes_done), 4e8, 3e7);
  EXPECT_NEAR(image.pull.bytes_per_second, 1e7, 1e6);
}

TEST_F(PullScenario, AnAgentThatIsReplacedLosesNoByte) {
  node.runtime.SetBandwidth(10 * kMB);
  node.PushAndList("r.io/a:v1", 1000 * kMB);
  node.RunFor(seconds(60));
  node.RestartAgent();
  node.RunFor(seconds(5));
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(5)));
  EXPECT_LT(node.runtime.counters().bytes_served, 1010 * kMB);
}

TEST_F(PullScenario, SameDigestUnderTwoNamesIsFetchedOnce) {
  node.runtime.SetBandwidth(10 * kMB);
  FakeImage image = MakeImage("a.io/x:v1", 100 * kMB);
  node.runtime.Push(image);
  FakeImage other = image;
  other.name = "b.io/x:v1";
  node.runtime.Push(other);
  node.List({"a.io/x@" + image.digest, "b.io/x@" + image.digest});
  node.RunFor(seconds(5));
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(5)));
  EXPECT_LT(node.runtime.counters().bytes_served, 101 * kMB);
}

TEST(PullScenarioWithOptions, AnArtifactIsNotAnImageThatStarts) {
  Node node({.persona = Persona::kContainerd23});
  FakeImage chart = MakeImage("r.io/chart:v1", kMB);
  chart.unpackable = false;
  node.runtime.Push(chart);
  node.List({"r.io/chart:v1"});
  node.RunFor(minutes(2));
  EXPECT_FALSE(node.Ready());
  EXPECT_EQ(node.ReasonOf("r.io/chart:v1"), plan::Reason::kNotUnpacked);
}

// CRI-O pulls and lists it. An image that is pushed under the same name later is found within the hour.
TEST(PullScenarioWithOptions, AnArtifactOfCrioIsNotAnImage) {
  Node node({.persona = Persona::kCrio});
  FakeImage chart = MakeImage("r.io/chart:v1", kMB);
  chart.unpackable = false;
  node.runtime.Push(chart);
  node.List({"r.io/chart:v1"});
  node.RunFor(minutes(2));
  EXPECT_FALSE(node.Ready());
  EXPECT_EQ(node.ReasonOf("r.io/chart:v1"), plan::Reason::kNotAnImage);
  EXPECT_FALSE(node.Image("r.io/chart:v1").usable);
  EXPECT_HAS(node.Image("r.io/chart:v1").message, "an OCI artifact under this name");
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
  node.RestartAgent();
  node.RunFor(minutes(2));
  EXPECT_EQ(node.ReasonOf("r.io/chart:v1"), plan::Reason::kNotAnImage) << "also of one that was here before";
  node.runtime.Push(MakeImage("r.io/chart:v1", 2 * kMB));
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(75)));
}

TEST_F(PullScenario, ForeignPlatformIsNotPresent) {
  FakeImage arm = MakeImage("r.io/arm:v1", kMB);
  arm.platform = {"linux", "arm64", "v8"};
  node.runtime.Push(arm);
  node.List({"r.io/arm:v1"});
  node.RunFor(minutes(2));
  EXPECT_FALSE(node.Ready());
  const plan::ImageState& image = node.Image("r.io/arm:v1");
  EXPECT_EQ(image.reason, plan::Reason::kWrongPlatform);
  EXPECT_HAS(image.message, "linux/arm64");
  EXPECT_EQ(image.pull.state, plan::PullState::kFailed);
  EXPECT_FALSE(image.present);
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
}

// Some images fail for reasons of their own while their registry answers others with 5xx.
TEST_F(PullScenario, EachImageKeepsItsOwnReason) {
  for (const char* name : {"r.io/corrupt:v1", "r.io/b:v1", "r.io/c:v1"}) {
    node.runtime.Push(MakeImage(name, kMB));
    node.runtime.Fail(name, image::ErrorClass::kServerError);
  }
  node.runtime.Fail("r.io/corrupt:v1", image::ErrorClass::kCorrupt);
  node.List({"r.io/corrupt:v1", "r.io/b:v1", "r.io/c:v1"});
  node.RunFor(seconds(5));
  int masked = 0;
  bool told = false;
  for (int second = 0; second < 120; second++) {
    node.RunFor(seconds(1));
    const plan::Reason reason = node.ReasonOf("r.io/corrupt:v1");
    if (reason != plan::Reason::kCorrupt && reason != plan::Reason::kPulling) masked++;
    told = told || node.Image("r.io/corrupt:v1").message.find("ServerError") != std::string::npos;
  }
  EXPECT_EQ(masked, 0);
  EXPECT_TRUE(told) << "the registry's trouble is added";
}

// CRI-O ends a shared pull for all when one caller goes away, such as `crictl pull` that is interrupted.
TEST(PullScenarioWithOptions, ACancelOfSomebodyElseIsNoFailure) {
  MidPullOnCrio node;
  node.runtime.CancelShared("r.io/a:v1");
  node.RunFor(seconds(1));
  EXPECT_EQ(node.ReasonOf("r.io/a:v1"), plan::Reason::kPulling) << "again, at once";
  EXPECT_EQ(node.runtime.counters().pull_calls, 2);
  EXPECT_EQ(node.LogLines("pull failed"), 0);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(2)));
}

// The runtime's own progress timeout looks the same, and comes again: that is a failure.
TEST(PullScenarioWithOptions, ACancelThatComesAgainIsTheRuntimesOwn) {
  Node node({.persona = Persona::kCrio});
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.runtime.Fail("r.io/a:v1", image::ErrorClass::kRuntimeProgressTimeout);
  node.List({"r.io/a:v1"});
  node.RunFor(minutes(1));
  EXPECT_EQ(node.ReasonOf("r.io/a:v1"), plan::Reason::kStalled);
  EXPECT_GE(node.LogLines("pull failed"), 1);
}

}  // namespace
}  // namespace prefetch::tests::pull_scenario_test
