// Registries that are down, slow down, or come back.
#include <gtest/gtest.h>

#include "scenario/node.h"

namespace prefetch::tests::registry_outage_scenario_test {
namespace {

using plan::OnFailure;
using plan::Reason;
using plan::Refresh;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
constexpr std::uint64_t kMB = 1'000'000;

void Refreshed(plan::DesiredImage& desired) {
  desired.refresh = Refresh::kIfDigestChanged;
}

std::vector<std::string> Tags(int n, const std::string& registry = "r.io") {
  std::vector<std::string> names;
  for (int i = 0; i < n; i++) names.push_back(registry + "/app" + std::to_string(i) + ":v1");
  return names;
}

// A node that has them all, with an agent that has just started.
void Warm(Node& node, const std::vector<std::string>& names,
          const std::function<void(plan::DesiredImage&)>& change = Refreshed) {
  for (const std::string& name : names) {
    node.runtime.Push(MakeImage(name, kMB));
    node.runtime.Preload(MakeImage(name, kMB));
  }
  node.List(names, change);
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
}

int FreshOnes(const Node& node) {
  int fresh = 0;
  for (const plan::ImageState& image : node.Snapshot()->images) {
    fresh += image.registry && image.registry->fresh ? 1 : 0;
  }
  return fresh;
}

TEST(OutageScenario, SixHoursOver200Entries) {
  Node node;
  Warm(node, Tags(200));
  node.RunFor(hours(2));
  ASSERT_EQ(FreshOnes(node), 200);
  int before = node.registries.requests();
  EXPECT_GE(before, 300);
  EXPECT_LE(before, 500);

  node.registries.Set("r.io", RegistryMood::kDown);
  node.runtime.SetRegistry(RegistryState::kDown);
  bool always_ready = true;
  node.RunUntil(
      [&] {
        always_ready = always_ready && node.Ready();
        return false;
      },
      hours(6));
  EXPECT_TRUE(always_ready);
  EXPECT_EQ(FreshOnes(node), 0);
  // Five to see it, and then one probe at a time, in the end a quarter of an hour apart.
  EXPECT_LE(node.registries.requests() - before, 50);
  EXPECT_GE(node.registries.requests() - before, 20);
  EXPECT_EQ(node.runtime.counters().pull_calls, 0);
  plan::SnapshotPtr snapshot = node.Snapshot();
  ASSERT_EQ(snapshot->registries.size(), 1U);
  EXPECT_TRUE(snapshot->registries[0].unreachable_since);
  EXPECT_EQ(snapshot->registries[0].trouble, "Unreachable");
  EXPECT_EQ(node.LogLines("registry does not answer"), 1);

  before = node.registries.requests();
  node.registries.Set("r.io", RegistryMood::kUp);
  node.runtime.SetRegistry(RegistryState::kUp);
  ASSERT_TRUE(node.RunUntil([&] { return FreshOnes(node) == 200; }, hours(2)));
  EXPECT_EQ(node.LogLines("registry answers again"), 1);
  EXPECT_LE(node.registries.requests() - before, 400) << "what was missed is not made up for";
  EXPECT_LE(node.registries.peak_per_second(), 15);
}

// Nothing else happens at that moment: the registry is left alone until its next probe.
TEST(OutageScenario, AnEntryThatIsNotAskedForShowsItAtItsTime) {
  Node node;
  Warm(node, Tags(20));
  node.RunFor(hours(2));
  ASSERT_EQ(FreshOnes(node), 20);
  node.registries.Set("r.io", RegistryMood::kDown);
  ASSERT_TRUE(node.RunUntil([&] { return node.LogLines("registry does not answer") == 1; }, hours(2)));
  base::Duration most{};
  node.RunUntil(
      [&] {
        for (const plan::ImageState& image : node.Snapshot()->images) {
          most = std::max<base::Duration>(most, node.clock.Wall() - image.registry->next_check_at.value());
        }
        return FreshOnes(node) == 0;
      },
      hours(3));
  EXPECT_EQ(FreshOnes(node), 0);
  EXPECT_LE(most, seconds(12)) << "checks that can wait have a turn at least so often";
}

TEST(OutageScenario, ADirectiveMakesItUnreadyAfterAMinuteAndReadyAtOnce) {
  Node node;
  Warm(node, Tags(20), [](plan::DesiredImage& desired) {
    Refreshed(desired);
    desired.on_unreachable = OnFailure::kNotReady;
  });
  node.RunFor(hours(2));
  node.registries.Set("r.io", RegistryMood::kDown);
  EXPECT_TRUE(node.RunUntil([&] { return !node.Ready(); }, minutes(20)));
  EXPECT_EQ(node.Snapshot()->readiness.phase, plan::Phase::kFailing);
  node.RunFor(hours(3));
  node.registries.Set("r.io", RegistryMood::kUp);
  // The next probe is a quarter of an hour away at most; then all that readiness waits for are asked at once.
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(20)));
}

TEST(OutageScenario, AShortHiccupIsNotNoticed) {
  Node node;
  Warm(node, Tags(1), [](plan::DesiredImage& desired) {
    desired.refresh = Refresh::kAlways;
    desired.refresh_interval = minutes(10);
  });
  node.RunFor(minutes(1));
  ASSERT_TRUE(node.Ready());
  node.registries.Set("r.io", RegistryMood::kFailing);
  int asked = node.registries.requests();
  ASSERT_TRUE(node.RunUntil([&] { return node.registries.requests() == asked + 1; }, minutes(15)));
  node.registries.Set("r.io", RegistryMood::kUp);
  bool always_ready = true;
  node.RunUntil(
      [&] {
        always_ready = always_ready && node.Ready();
        return false;
      },
      minutes(5));
  EXPECT_TRUE(always_ready);
}

TEST(OutageScenario, PatienceOfOneRegistryIsNotAskedOfTheOthers) {
  Node node;
  std::vector<std::string> names = Tags(10, "limited.io");
  for (const char* registry : {"b.io", "c.io"}) {
    for (const std::string& name : Tags(10, registry)) names.push_back(name);
  }
  Warm(node, names);
  node.RunFor(hours(2));
  ASSERT_EQ(FreshOnes(node), 30);
  node.registries.Set("limited.io", RegistryMood::kLimiting, minutes(30));
  int asked = node.registries.requests("limited.io");
  ASSERT_TRUE(node.RunUntil([&] { return node.registries.requests("limited.io") > asked; }, hours(1)));
  asked = node.registries.requests("limited.io");
  int others = node.registries.requests("b.io");
  node.RunFor(minutes(29));
  EXPECT_EQ(node.registries.requests("limited.io"), asked) << "Retry-After is kept";
  EXPECT_GT(node.registries.requests("b.io"), others);
  plan::SnapshotPtr snapshot = node.Snapshot();
  ASSERT_EQ(snapshot->registries.size(), 3U);
  EXPECT_EQ(snapshot->registries[2].name, "limited.io");
  EXPECT_TRUE(snapshot->registries[2].held_until);
  EXPECT_FALSE(snapshot->registries[0].held_until);
  EXPECT_TRUE(node.Ready());
  node.RunFor(hours(3));
  EXPECT_LE(node.registries.requests("limited.io") - asked, 7);
  node.registries.Set("limited.io", RegistryMood::kUp);
  EXPECT_TRUE(node.RunUntil([&] { return FreshOnes(node) == 30; }, hours(3)));
}

TEST(OutageScenario, PatienceHoldsPullsToo) {
  Node node;
  std::vector<std::string> names = Tags(2);
  Warm(node, names, [](plan::DesiredImage& desired) {
    Refreshed(desired);
    desired.refresh_interval = minutes(10);
  });
  node.registries.Set("r.io", RegistryMood::kLimiting, hours(1));
  ASSERT_TRUE(node.RunUntil([&] { return node.registries.requests() > 0; }, minutes(20)));
  node.runtime.Remove(names[0]);
  node.RunFor(minutes(50));
  EXPECT_EQ(node.runtime.counters().pull_calls, 0);
  EXPECT_EQ(node.ReasonOf(names[0]), Reason::kRateLimited);
  node.registries.Set("r.io", RegistryMood::kUp);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(30)));
}

TEST(OutageScenario, AbsentImagesArePulledThoughTheAgentsOwnQuestionsFail) {
  // The agent may lack the proxy that the runtime has: what it cannot ask itself is still pulled.
  Node node;
  std::vector<std::string> names = Tags(20);
  Warm(node, names);
  node.registries.Set("r.io", RegistryMood::kDown);
  node.RunFor(hours(1));
  node.runtime.Remove(names[0]);
  EXPECT_TRUE(node.RunUntil([&] { return node.LogLines("image pulled") == 1; }, seconds(30)));
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(30)));
}

TEST(OutageScenario, ChecksAreSpreadOverTheInterval) {
  Node node;
  Warm(node, Tags(200));
  std::vector<int> by_ten_minutes;
  int before = 0;
  for (int i = 0; i < 12; i++) {
    node.RunFor(minutes(10));
    by_ten_minutes.push_back(node.registries.requests() - before);
    before = node.registries.requests();
  }
  for (int requests : by_ten_minutes) {
    EXPECT_GE(requests, 15);
    EXPECT_LE(requests, 60);
  }
}

TEST(OutageScenario, StartJitterHoldsOnlyFirstPulls) {
  plan::Limits limits;
  limits.start_jitter = minutes(30);
  Node node({.limits = limits});
  for (const std::string& name : Tags(3)) node.runtime.Push(MakeImage(name, kMB));
  node.List(Tags(3));
  node.RunFor(seconds(10));
  EXPECT_EQ(node.runtime.counters().pull_calls, 0);
  EXPECT_EQ(node.Image(Tags(1)[0]).phase, plan::Phase::kProgressing);
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(30)));
  node.runtime.Remove(Tags(1)[0]);
  EXPECT_TRUE(node.RunUntil([&] { return node.runtime.counters().pull_calls == 4; }, seconds(12)));
}

}  // namespace
}  // namespace prefetch::tests::registry_outage_scenario_test
