// A node of an extreme size: thousands of entries of hundreds of registries, and a list that changes every
// second.
#include <gtest/gtest.h>

#include <algorithm>

#include "scenario/node.h"

namespace prefetch::tests::scale_scenario_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

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

// A Snapshot of so many entries costs a millisecond. While a verdict is held, none would show anything new.
TEST(ScaleScenario, AShortPullOfKubeletsPublishesNothing) {
  NodeOptions options;
  options.kubelet =
      kubelet::KubeletDeclarations{.version = image::KubeletVersion{1, 36},
                                   .policy = kubelet::VerificationPolicy::kNeverVerifyPreloadedImages};
  Node node(std::move(options));
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
  node.List(Names(0), [](plan::DesiredImage& desired) { desired.refresh = plan::Refresh::kIfDigestChanged; });
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(30)));
  node.RunFor(minutes(70));
  EXPECT_GE(node.registries.requests(), kEntries);
  EXPECT_LE(node.registries.requests(), 2 * kEntries);
  // A turn each 8 s starts those that have become due: two on average.
  EXPECT_LE(node.registries.peak_per_second(), 15);
  EXPECT_TRUE(node.Ready());
}

}  // namespace
}  // namespace prefetch::tests::scale_scenario_test
