// Keeping what is there.
#include <gtest/gtest.h>

#include "scenario/node.h"

namespace prefetch::tests::keeping_scenario_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
constexpr std::uint64_t kMB = 1'000'000;

TEST(KeepingScenario, AVanishedImageIsNoticedWithinTenSecondsAndPulledAgain) {
  Node node;
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/a:v1"});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  node.RunFor(minutes(5));
  node.runtime.Remove("r.io/a:v1");
  EXPECT_TRUE(node.RunUntil([&] { return node.LogLines("image vanished") == 1; }, seconds(10)));
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
}

TEST(KeepingScenario, EvictedAgainAndAgainSlowsDownAndSaysSo) {
  Node node;
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/a:v1"});
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

TEST(KeepingScenario, PresentMeansUnderThatName) {
  Node node;
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

TEST(KeepingScenario, ASecondAgentOnTheSameNodeIsHarmless) {
  Node node;
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
}  // namespace prefetch::tests::keeping_scenario_test
