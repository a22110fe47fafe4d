// What the agent counts of what happens to it.
#include <gtest/gtest.h>

#include "scenario/node.h"

namespace prefetch::tests::metrics_scenario_test {
namespace {

using agent::PullResult;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Pulls = std::map<std::pair<PullResult, std::optional<plan::Reason>>, std::uint64_t>;
constexpr std::uint64_t kMB = 1'000'000;

constexpr std::pair<PullResult, std::optional<plan::Reason>> kSucceeded(PullResult::kSucceeded, std::nullopt);
constexpr std::pair<PullResult, std::optional<plan::Reason>> kTakenBack(PullResult::kCancelled, std::nullopt);

TEST(MetricsScenario, AStartIsCountedOnceAndTimed) {
  Node node;
  node.runtime.SetBandwidth(10 * kMB);
  node.runtime.Push(MakeImage("r.io/a:v1", 100 * kMB));
  node.runtime.Push(MakeImage("r.io/b:v1", 200 * kMB));
  node.List({"r.io/a:v1", "r.io/b:v1"});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(5)));
  base::Duration ready_after = node.Elapsed();
  node.runtime.Remove("r.io/a:v1");
  node.RunFor(minutes(5));
  ASSERT_TRUE(node.Ready());
  agent::Counts counts = node.Metrics().Copy();
  EXPECT_EQ(counts.pulls, (Pulls{{kSucceeded, 3}, {kTakenBack, 0}}));
  EXPECT_GE(counts.time_to_ready, base::Duration(seconds(30)));  // what 300 MB take
  EXPECT_EQ(counts.time_to_ready, ready_after);                  // not moved by the second time
  EXPECT_GE(counts.pull_seconds.at(PullResult::kSucceeded).sum(), 40);
  EXPECT_GE(counts.pull_bytes.sum(), 400.0 * kMB);
}

TEST(MetricsScenario, EachFailedTryHasItsClass) {
  Node node;
  node.List({"r.io/gone:v1"});
  node.RunFor(hours(1));
  ASSERT_EQ(node.ReasonOf("r.io/gone:v1"), plan::Reason::kNotFound);
  agent::Counts counts = node.Metrics().Copy();
  auto tries = static_cast<std::uint64_t>(node.runtime.counters().pull_calls);
  EXPECT_GE(tries, 3U);
  EXPECT_EQ(
      counts.pulls,
      (Pulls{{kSucceeded, 0}, {{PullResult::kFailed, plan::Reason::kNotFound}, tries}, {kTakenBack, 0}}));
  EXPECT_EQ(counts.time_to_ready, std::nullopt);
}

TEST(MetricsScenario, APullThatIsNotWantedAnyMoreIsNoFailure) {
  Node node;
  node.runtime.SetBandwidth(kMB);
  node.runtime.Push(MakeImage("r.io/large:v1", 1000 * kMB));
  node.List({"r.io/large:v1"});
  node.RunFor(minutes(1));
  node.List({});
  node.RunFor(minutes(1));
  EXPECT_EQ(node.Metrics().Copy().pulls, (Pulls{{kSucceeded, 0}, {kTakenBack, 1}}));
}

TEST(MetricsScenario, APullWhoseTimeIsUpHasFailedForThat) {
  Node node({.persona = Persona::kCrio});
  node.runtime.SetBandwidth(kMB);
  node.runtime.Push(MakeImage("r.io/a:v1", 3000 * kMB));  // 50 minutes
  node.List({"r.io/a:v1"}, [](plan::DesiredImage& desired) { desired.pull_timeout = minutes(20); });
  node.RunFor(minutes(22));
  EXPECT_EQ(node.Metrics().Copy().pulls,
            (Pulls{{kSucceeded, 0}, {{PullResult::kFailed, plan::Reason::kTimeout}, 1}, {kTakenBack, 0}}));
}

TEST(MetricsScenario, AStalledPullIsReplacedAndSaysSo) {
  Node node;
  node.runtime.SetBandwidth(kMB);
  node.runtime.Push(MakeImage("r.io/a:v1", 100 * kMB));
  node.List({"r.io/a:v1"});
  node.RunFor(seconds(30));
  node.runtime.SetRegistry(RegistryState::kStalled);
  node.RunFor(minutes(12));
  node.runtime.SetRegistry(RegistryState::kUp);
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, hours(1)));
  Pulls pulls = node.Metrics().Copy().pulls;
  EXPECT_GE((pulls[{PullResult::kCancelled, plan::Reason::kStalled}]), 1U);
  EXPECT_EQ(pulls[kSucceeded], 1U);
}

TEST(MetricsScenario, EachPullLooksUpItsCredentials) {
  Node node({.docker_config = R"({"auths":{"r.io":{"username":"ci","password":"pw"}}})"});
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.runtime.Push(MakeImage("q.io/b:v1", kMB));
  node.List({"r.io/a:v1", "q.io/b:v1"});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  auto lookups = node.Metrics().Copy().lookups;
  EXPECT_EQ((lookups[{credentials::Source::kDockerConfig, credentials::ProviderOutcome::kOk}]), 1U);
  EXPECT_EQ((lookups[{credentials::Source::kDockerConfig, credentials::ProviderOutcome::kEmpty}]), 1U);
}

}  // namespace
}  // namespace prefetch::tests::metrics_scenario_test
