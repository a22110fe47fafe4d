// The agent's counters of what happens to it.
#include <gtest/gtest.h>

#include "scenario/node.h"

namespace prefetch::tests::metrics_scenario_test {
namespace {

using agent::PullResult;

// By result and reason.
using Pulls = std::map<std::vector<agent::Label>, double>;

const std::vector<agent::Label> kSucceeded = {PullResult::kSucceeded, "None"};
const std::vector<agent::Label> kTakenBack = {PullResult::kCancelled, "None"};

Pulls PullsOf(const agent::Samples& counts) {
  const status::MetricNamed metric = "prefetchd_pulls_total";
  Pulls pulls;
  for (const auto& [key, sample] : counts.all) {
    if (key.first == metric.index) pulls[key.second] = sample.value;
  }
  return pulls;
}

std::optional<double> ReadyAfter(const agent::Samples& counts) {
  const status::MetricNamed metric = "prefetchd_time_to_ready_seconds";
  auto found = counts.all.find({metric.index, {}});
  return found == counts.all.end() ? std::nullopt : std::optional(found->second.value);
}

using MetricsScenario = NodeTest;

TEST_F(MetricsScenario, AStartIsCountedOnceAndTimed) {
  node.runtime.SetBandwidth(10 * kMB);
  node.runtime.Push(MakeImage("r.io/a:v1", 100 * kMB));
  node.runtime.Push(MakeImage("r.io/b:v1", 200 * kMB));
  node.List({"r.io/a:v1", "r.io/b:v1"});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(5)));
  base::Duration ready_after = node.Elapsed();
  node.runtime.Remove("r.io/a:v1");
  node.RunFor(minutes(5));
  ASSERT_TRUE(node.Ready());
  agent::Samples counts = node.Metrics().Copy();
  EXPECT_EQ(PullsOf(counts), (Pulls{{kSucceeded, 3}, {kTakenBack, 0}}));
  EXPECT_GE(ReadyAfter(counts), 30);  // what 300 MB take
  // Not moved by the second time.
  EXPECT_EQ(ReadyAfter(counts), std::chrono::duration<double>(ready_after).count());
  EXPECT_GE(counts.At("prefetchd_pull_duration_seconds", {PullResult::kSucceeded}).value, 40);
  EXPECT_GE(counts.At("prefetchd_pull_bytes").value, 400.0 * kMB);
}

TEST_F(MetricsScenario, EachFailedTryHasItsClass) {
  node.List({"r.io/gone:v1"});
  node.RunFor(hours(1));
  ASSERT_EQ(node.ReasonOf("r.io/gone:v1"), plan::Reason::kNotFound);
  agent::Samples counts = node.Metrics().Copy();
  const double tries = node.runtime.counters().pull_calls;
  EXPECT_GE(tries, 3);
  EXPECT_EQ(
      PullsOf(counts),
      (Pulls{{kSucceeded, 0}, {{PullResult::kFailed, plan::Reason::kNotFound}, tries}, {kTakenBack, 0}}));
  EXPECT_EQ(ReadyAfter(counts), std::nullopt);
}

TEST_F(MetricsScenario, APullThatIsNotWantedAnyMoreIsNoFailureAndItsBytesGo) {
  node.runtime.SetBandwidth(10 * kMB);
  node.PushAndList("r.io/large:v1", 1000 * kMB);
  node.RunFor(seconds(10));
  node.PushAndList("r.io/b:v1", 10 * kMB);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(20)));
  node.RunFor(seconds(10));
  EXPECT_LT(node.runtime.BytesStored(), 20 * kMB);
  EXPECT_EQ(PullsOf(node.Metrics().Copy()), (Pulls{{kSucceeded, 1}, {kTakenBack, 1}}));
}

TEST(MetricsScenarioWithOptions, EachPullLooksUpItsCredentials) {
  Node node({.docker_config = R"({"auths":{"r.io":{"username":"ci","password":"pw"}}})"});
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.runtime.Push(MakeImage("q.io/b:v1", kMB));
  node.List({"r.io/a:v1", "q.io/b:v1"});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  agent::Samples counts = node.Metrics().Copy();
  for (auto outcome : {credentials::ProviderOutcome::kOk, credentials::ProviderOutcome::kEmpty}) {
    const agent::Label source = credentials::Source::kDockerConfig;
    EXPECT_EQ(counts.At("prefetchd_credential_lookups_total", {source, outcome}).value, 1);
  }
}

// Images that come to the node without being on the list.

std::vector<std::string> UnlistedOf(const Node& node) {
  std::vector<std::string> names;
  plan::SnapshotPtr snapshot = node.Snapshot();
  if (!snapshot->unlisted) return {"not known"};
  for (const plan::UnlistedImage& image : snapshot->unlisted->images) names.push_back(image.image);
  return names;
}

TEST(AuditScenario, AnImageThatAPodBroughtIsSeenAndWhatTheListBringsIsNot) {
  Node node;
  node.runtime.Preload(MakeImage("r.io/old:v1", kMB));
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  EXPECT_EQ(UnlistedOf(node), std::vector<std::string>{"not known"});
  node.List({"r.io/a:v1"});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  node.RunFor(minutes(1));
  EXPECT_EQ(UnlistedOf(node), std::vector<std::string>{});
  int looks = node.runtime.counters().list_calls;
  node.runtime.Preload(MakeImage("r.io/pods:v1", kMB));
  EXPECT_TRUE(node.RunUntil([&] { return !UnlistedOf(node).empty(); }, seconds(10)));
  EXPECT_EQ(UnlistedOf(node), std::vector<std::string>{"r.io/pods:v1"});
  EXPECT_EQ(node.LogLines("images came that are on no list"), 1);
  EXPECT_TRUE(node.Ready());
  EXPECT_LE(node.runtime.counters().list_calls, looks + 2) << "it rides on the look that is taken anyway";

  node.runtime.Remove("r.io/pods:v1");
  EXPECT_TRUE(node.RunUntil([&] { return !node.Snapshot()->unlisted->images.at(0).present; }, seconds(10)));
  node.runtime.Push(MakeImage("r.io/pods:v1", kMB));
  node.List({"r.io/a:v1", "r.io/pods:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return UnlistedOf(node).empty(); }, seconds(10)));
  node.RunFor(minutes(1));
  EXPECT_EQ(UnlistedOf(node), std::vector<std::string>{});
}

TEST(AuditScenario, ANewAgentBeginsAnew) {
  Node node;
  node.List({});
  node.RunFor(seconds(10));
  node.runtime.Preload(MakeImage("r.io/pods:v1", kMB));
  node.RunFor(seconds(10));
  EXPECT_EQ(UnlistedOf(node).size(), 1U);
  node.RestartAgent();
  node.RunFor(seconds(10));
  EXPECT_EQ(UnlistedOf(node), std::vector<std::string>{});
}

// A node of an extreme size: thousands of entries of hundreds of registries, and a list that changes every
// second.

constexpr int kEntries = 1000, kRegistries = 300;
constexpr int kChanges = 30;

std::string Name(int number) {
  return "r" + std::to_string(number % kRegistries) + ".test/team/app" + std::to_string(number) + ":v1";
}

std::vector<std::string> Names(int from) {
  std::vector<std::string> names;
  for (int i = from; i < kEntries; i++) names.push_back(Name(i));
  return names;
}

TEST(ScaleScenario, AListThatChangesEverySecondPullsWhatIsNewAndNothingElse) {
  Node node;
  for (int i = 0; i < kEntries; i++) node.runtime.Preload(MakeImage(Name(i), 1000));
  node.List(Names(0));
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(30)));
  EXPECT_EQ(node.runtime.counters().pull_calls, 0);
  const int looks = node.runtime.counters().list_calls;
  const std::size_t lines = node.log.size();
  for (int change = 1; change <= kChanges; change++) {
    std::vector<std::string> names = Names(change % 2);
    const std::string job = "ci.test/job" + std::to_string(change) + ":run";
    node.runtime.Push(MakeImage(job, 1000));
    names.push_back(job);
    node.List(names);
    node.RunFor(seconds(1));
    EXPECT_TRUE(node.Ready()) << "after change " << change;
    EXPECT_EQ(node.Snapshot()->images.size(), names.size());
  }
  EXPECT_EQ(node.runtime.counters().pull_calls, kChanges);
  // A look at once for each list, one after each pull, and no more than those of its events.
  EXPECT_LE(node.runtime.counters().list_calls - looks, 5 * kChanges);
  // The list in force, and the image that came.
  EXPECT_LE(node.log.size() - lines, static_cast<std::size_t>(4 * kChanges));
}

// A Snapshot of this size costs a millisecond. While a verdict is held, none would show anything new.
TEST(ScaleScenario, AShortPullOfKubeletsPublishesNothing) {
  Node node({.kubelet = kubelet::KubeletDeclarations{
                 .version = image::KubeletVersion{1, 36},
                 .policy = kubelet::VerificationPolicy::kNeverVerifyPreloadedImages}});
  node.Kubelet([](FakeKubelet& kubelet) { kubelet.Start({.version = {1, 36}}); });
  for (int i = 0; i < kEntries; i++) node.runtime.Preload(MakeImage(Name(i), 1000));
  node.List(Names(0));
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(30)));
  node.RunFor(minutes(1));
  const plan::SnapshotPtr before = node.Snapshot();
  node.Kubelet([](FakeKubelet& kubelet) { kubelet.BeginPull(Name(0)); });
  node.RunFor(seconds(2));
  EXPECT_EQ(node.Snapshot().get(), before.get());
}

// Each entry is asked about once an hour, and no registry more often than its budget allows.
TEST(ScaleScenario, ChecksOfHundredsOfRegistriesAreSpreadOverTheInterval) {
  Node node;
  for (int i = 0; i < kEntries; i++) {
    node.runtime.Push(MakeImage(Name(i), 1000));
    node.runtime.Preload(MakeImage(Name(i), 1000));
  }
  node.List(Names(0), Refreshed);
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(30)));
  node.RunFor(minutes(70));
  EXPECT_GE(node.registries.requests(), kEntries);
  EXPECT_LE(node.registries.requests(), 2 * kEntries);
  // A turn each 8 s starts those that have become due: two on average.
  EXPECT_LE(node.registries.peak_per_second(), 15);
  EXPECT_TRUE(node.Ready());
}

}  // namespace
}  // namespace prefetch::tests::metrics_scenario_test
