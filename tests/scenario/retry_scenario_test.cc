// Retries: their causes, times and number.
#include <gtest/gtest.h>

#include "scenario/node.h"

namespace prefetch::tests::retry_scenario_test {
namespace {

using plan::OnFailure;
using plan::Reason;
using plan::Refresh;

constexpr const char* kDockerConfig = R"({"auths":{"r.io":{"username":"ci","password":"wrong-password"}}})";

FakeImage Private(const std::string& name) {
  return Private(MakeImage(name, kMB), "ci", "right-password");
}

TEST(RetryScenarioWithOptions, AWrongPasswordOnFortyEntriesDoesNotLockTheAccount) {
  Node node({.docker_config = kDockerConfig});
  std::vector<std::string> names = Numbered("r.io/app", 40);
  for (const std::string& name : names) node.runtime.Push(Private(name));
  node.List(names);
  node.RunFor(minutes(1));
  for (const std::string& name : names) EXPECT_EQ(node.ReasonOf(name), plan::Reason::kAccessDenied) << name;
  // A PullImage sends a refused password up to five times; a few pulls were under way at once.
  EXPECT_LE(node.runtime.counters().refused_passwords, 7 * 5);
  EXPECT_EQ(node.Snapshot()->readiness.phase, plan::Phase::kFailing);
}

// And no password is ever said.
TEST(RetryScenarioWithOptions, TheRightPasswordIsFoundWithoutARestart) {
  Node node({.docker_config = kDockerConfig});
  node.runtime.Push(Private("r.io/app:v1"));
  node.List({"r.io/app:v1"});
  node.RunFor(minutes(1));
  EXPECT_EQ(node.ReasonOf("r.io/app:v1"), plan::Reason::kAccessDenied);
  EXPECT_LACKS(node.Image("r.io/app:v1").message, "wrong-password");
  node.runtime.Push(MakeImage("r.io/app:v1", kMB));  // the registry has mended its rights
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(10)));
  for (const std::string& line : node.log) EXPECT_LACKS(line, "wrong-password");
}

using RetryScenario = NodeTest;

TEST_F(RetryScenario, AnOutageOfAnHourIsSurvivedWithoutAStorm) {
  std::vector<std::string> names = Numbered("r.io/app", 30);
  for (const std::string& name : names) node.runtime.Push(MakeImage(name, kMB));
  node.runtime.SetRegistry(RegistryState::kDown);
  node.List(names);
  node.RunFor(hours(1));
  EXPECT_FALSE(node.Ready());
  EXPECT_EQ(node.Image(names[0]).phase, plan::Phase::kFailing);
  // One probe at a time with pauses of up to a minute, 30 s in the mean.
  EXPECT_LE(node.runtime.counters().pull_calls, 60 * 4 + 10);
  node.runtime.SetRegistry(RegistryState::kUp);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(7)));
}

TEST_F(RetryScenario, APassingFailureIsTriedAgainAtOnce) {
  node.runtime.SetBandwidth(10 * kMB);
  node.PushAndList("r.io/a:v1", 100 * kMB);
  node.RunFor(seconds(5));
  node.runtime.SetRegistry(RegistryState::kDown);
  node.runtime.SetRegistry(RegistryState::kUp);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(7)));
  EXPECT_EQ(node.runtime.counters().pull_calls, 2);
}

// `pin` concerns no pull. A changed priority does.
TEST_F(RetryScenario, AChangedPinEndsNoBackoff) {
  node.List({"r.io/gone:v1"});
  node.RunFor(seconds(30));
  ASSERT_EQ(node.runtime.counters().pull_calls, 1);
  node.List({"r.io/gone:v1"}, [](plan::DesiredImage& desired) { desired.pin = true; });
  node.RunFor(seconds(30));
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
  node.List({"r.io/gone:v1"}, [](plan::DesiredImage& desired) { desired.pin = true, desired.priority = 1; });
  node.RunFor(seconds(30));
  EXPECT_EQ(node.runtime.counters().pull_calls, 2);
}

TEST_F(RetryScenario, RateLimitHoldsTheRegistryNotTheOthers) {
  for (const char* name : {"r.io/a:v1", "r.io/b:v1", "other.io/c:v1"})
    node.runtime.Push(MakeImage(name, kMB));
  node.runtime.Fail("r.io/a:v1", image::ErrorClass::kRateLimited);
  node.runtime.Fail("r.io/b:v1", image::ErrorClass::kRateLimited);
  node.List({"r.io/a:v1", "r.io/b:v1", "other.io/c:v1"});
  node.RunFor(seconds(30));
  EXPECT_TRUE(node.Image("other.io/c:v1").ready);
  EXPECT_EQ(node.ReasonOf("r.io/a:v1"), plan::Reason::kRateLimited);
  EXPECT_LE(node.runtime.counters().pull_calls, 3);
  node.runtime.Fail("r.io/a:v1", std::nullopt);
  node.runtime.Fail("r.io/b:v1", std::nullopt);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(10)));
}

// Pulls that were under way when the registry asked for patience end well, and it still asks for patience.
TEST(RetryScenarioWithOptions, APullThatEndsWellDoesNotEndAnothersHold) {
  Node node({.limits = {.parallel_pulls = 2}});
  for (const char* name : {"r.io/a:v1", "r.io/b:v1", "r.io/c:v1"})
    node.runtime.Push(MakeImage(name, 100 * kMB));
  node.runtime.SetBandwidth(10 * kMB);
  node.runtime.Fail("r.io/a:v1", image::ErrorClass::kRateLimited);
  node.List({"r.io/b:v1"});
  ASSERT_TRUE(node.RunUntil([&] { return node.runtime.counters().pull_calls == 1; }, seconds(5)));
  node.List({"r.io/a:v1", "r.io/b:v1", "r.io/c:v1"});
  ASSERT_TRUE(node.RunUntil([&] { return node.Image("r.io/b:v1").ready; }, seconds(30)));
  node.RunFor(seconds(20));
  EXPECT_EQ(node.runtime.counters().pull_calls, 2);
  EXPECT_TRUE(node.RunUntil([&] { return node.Image("r.io/c:v1").ready; }, minutes(3)));
}

TEST_F(RetryScenario, NoImageForThisPlatformIsNotTriedAgainBeforeTheListChanges) {
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.runtime.Fail("r.io/a:v1", image::ErrorClass::kPlatformMismatch);
  node.List({"r.io/a:v1"});
  node.RunFor(hours(24));
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
  EXPECT_EQ(node.Image("r.io/a:v1").pull.state, plan::PullState::kFailed);
  EXPECT_EQ(node.ReasonOf("r.io/a:v1"), plan::Reason::kPlatformMismatch);
  EXPECT_EQ(node.Image("r.io/a:v1").phase, plan::Phase::kFailing);
  node.runtime.Fail("r.io/a:v1", std::nullopt);
  node.runtime.Push(MakeImage("r.io/b:v1", kMB));
  node.List({"r.io/a:v1", "r.io/b:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
}

// A tag that is pushed after its pull has failed is not waited for, if an operator requests a retry, or if a
// preflight waits.
TEST_F(RetryScenario, ARequestTriesAtOnce) {
  node.List({"r.io/late:v1", "r.io/later:v1"});
  node.RunFor(minutes(1));
  ASSERT_EQ(node.ReasonOf("r.io/late:v1"), plan::Reason::kNotFound);
  const int before = node.runtime.counters().pull_calls;
  node.runtime.Push(MakeImage("r.io/late:v1", kMB));
  node.Retry({"r.io/late:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.Image("r.io/late:v1").ready; }, seconds(5)));
  EXPECT_EQ(node.runtime.counters().pull_calls, before + 1) << "the other one was not named";
  EXPECT_EQ(node.LogLines("retry requested"), 1);
  node.runtime.Push(MakeImage("r.io/later:v1", kMB));
  node.RequestPull("r.io/later:v1");
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(5)));
}

TEST_F(RetryScenario, ARequestIsShownUntilItsPullHasEnded) {
  node.runtime.SetBandwidth(10 * kMB);
  node.List({"r.io/late:v1"});
  node.RunFor(minutes(1));
  node.runtime.Push(MakeImage("r.io/late:v1", 100 * kMB));
  node.Retry({"r.io/late:v1"});
  node.RunFor(seconds(3));
  EXPECT_EQ(node.Image("r.io/late:v1").pull.state, plan::PullState::kPulling);
  EXPECT_TRUE(node.Image("r.io/late:v1").pull.retry_requested_at);
  node.RunFor(minutes(1));
  EXPECT_TRUE(node.Image("r.io/late:v1").ready);
  EXPECT_FALSE(node.Image("r.io/late:v1").pull.retry_requested_at);
}

TEST_F(RetryScenario, ARequestDoesNotReachARegistryThatLimitsTheRate) {
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.runtime.Fail("r.io/a:v1", image::ErrorClass::kRateLimited);
  node.List({"r.io/a:v1"});
  node.RunFor(seconds(30));
  const int before = node.runtime.counters().pull_calls;
  node.runtime.Fail("r.io/a:v1", std::nullopt);
  for (int i = 0; i < 5; i++) {
    node.Retry({"r.io/a:v1"});
    node.RunFor(seconds(1));
  }
  EXPECT_EQ(node.runtime.counters().pull_calls, before);
  EXPECT_TRUE(node.Image("r.io/a:v1").pull.retry_requested_at) << "status shows it while it waits";
}

TEST_F(RetryScenario, ARequestEndsTheRestAfterAnOutage) {
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.runtime.SetRegistry(RegistryState::kDown);
  node.List({"r.io/a:v1"});
  node.RunFor(hours(1));
  node.runtime.SetRegistry(RegistryState::kUp);
  node.Retry({"r.io/a:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(3)));
}

// After an outage, the failures of r.io/a:v1 hold its registry for r.io/new:v1, which has not failed. The
// length of a hold is random, so this waits for one that lasts.
void HoldRegistry(Node& node) {
  for (const char* name : {"r.io/a:v1", "r.io/new:v1", "r.io/other:v1"})
    node.runtime.Push(MakeImage(name, kMB));
  bool held = false;
  for (int i = 0; i < 20 && !held; i++) {
    node.runtime.SetRegistry(RegistryState::kDown);
    node.List({"r.io/a:v1"});
    node.RunFor(seconds(1));
    const int attempts = node.Image("r.io/a:v1").pull.attempts;
    ASSERT_TRUE(node.RunUntil(
        [&] {
          const plan::PullStatus& pull = node.Image("r.io/a:v1").pull;
          return pull.attempts > attempts + 5 && pull.state == plan::PullState::kWaiting;
        },
        hours(1)));
    node.runtime.SetRegistry(RegistryState::kUp);
    node.List({"r.io/a:v1", "r.io/new:v1"});
    node.RunFor(seconds(5));
    held = node.Image("r.io/new:v1").pull.held;
  }
  ASSERT_TRUE(held);
}

TEST_F(RetryScenario, ARequestEndsTheHoldOfARegistryForAnImageThatHasNotFailed) {
  HoldRegistry(node);
  node.Retry({"r.io/new:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.Image("r.io/new:v1").ready; }, seconds(2)));
}

TEST_F(RetryScenario, APreflightEndsTheHoldOfARegistry) {
  HoldRegistry(node);
  node.RequestPull("r.io/other:v1");
  EXPECT_TRUE(node.RunUntil([&] { return !node.IdOf("r.io/other:v1").empty(); }, seconds(2)));
}

// A full disk pauses every pull. An image that has not failed itself has no other reason to wait. A request
// for an image that is present leaves that pause alone.
TEST_F(RetryScenario, ARequestEndsThePauseAfterAFullDisk) {
  for (const char* name : {"r.io/here:v1", "r.io/a:v1", "r.io/new:v1"})
    node.runtime.Push(MakeImage(name, kMB));
  node.List({"r.io/here:v1"});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(30)));
  node.runtime.SetDiskFull(true);
  node.List({"r.io/here:v1", "r.io/a:v1"});
  node.RunFor(seconds(30));
  ASSERT_EQ(node.ReasonOf("r.io/a:v1"), plan::Reason::kDiskFull);
  node.runtime.SetDiskFull(false);
  node.List({"r.io/here:v1", "r.io/a:v1", "r.io/new:v1"});
  node.Retry({"r.io/here:v1"});
  node.RunFor(seconds(10));
  EXPECT_FALSE(node.Image("r.io/new:v1").ready);
  EXPECT_FALSE(node.Image("r.io/here:v1").pull.retry_requested_at);
  node.Retry({"r.io/new:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.Image("r.io/new:v1").ready; }, seconds(5)));
}

TEST_F(RetryScenario, AChangedEntryIsTriedAtOnce) {
  node.List({"r.io/late:v1"});
  node.RunFor(minutes(1));
  node.runtime.Push(MakeImage("r.io/late:v1", kMB));
  node.List({"r.io/late:v1", "r.io/other:v1"});
  node.RunFor(seconds(10));
  ASSERT_FALSE(node.Image("r.io/late:v1").ready) << "a neighbour changes nothing";
  node.List({"r.io/late:v1"}, [](plan::DesiredImage& desired) { desired.priority = 1; });
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(5)));
}

// Registries that are down, slow down, or come back.

std::vector<std::string> Tags(int n, const std::string& registry = "r.io") {
  return Numbered(registry + "/app", n);
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

using OutageScenario = NodeTest;

TEST_F(OutageScenario, SixHoursOver200Entries) {
  Warm(node, Tags(200));
  int before = 0;
  for (int i = 0; i < 12; i++) {  // checks are spread over the interval
    node.RunFor(minutes(10));
    EXPECT_GE(node.registries.requests() - before, 15);
    EXPECT_LE(node.registries.requests() - before, 60);
    before = node.registries.requests();
  }
  ASSERT_EQ(FreshOnes(node), 200);
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
TEST_F(OutageScenario, AnEntryThatIsNotAskedForShowsItAtItsTime) {
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

TEST_F(OutageScenario, ADirectiveMakesItUnreadyAfterAMinuteAndReadyAtOnce) {
  Warm(node, Tags(20), [](plan::DesiredImage& desired) {
    Refreshed(desired);
    desired.on_unreachable = OnFailure::kNotReady;
  });
  node.RunFor(hours(2));
  node.registries.Set("r.io", RegistryMood::kDown);
  EXPECT_TRUE(node.RunUntil([&] { return !node.Ready(); }, minutes(20)));
  EXPECT_EQ(node.Snapshot()->readiness.phase, plan::Phase::kFailing);
  node.RunFor(hours(3));
  int unready = 0;
  for (const plan::ImageState& image : node.Snapshot()->images) {
    if (image.ready) continue;
    unready++;
    EXPECT_EQ(image.reason, Reason::kUnreachable);
    EXPECT_EQ(image.message, image.registry->message);
    EXPECT_TRUE(image.usable);
  }
  EXPECT_GE(unready, 1);
  node.registries.Set("r.io", RegistryMood::kUp);
  // The next probe is a quarter of an hour away at most; then all that readiness waits for are asked at once.
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(20)));
}

TEST_F(OutageScenario, AShortHiccupIsNotNoticed) {
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

TEST_F(OutageScenario, PatienceOfOneRegistryIsNotAskedOfTheOthers) {
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

TEST_F(OutageScenario, PatienceHoldsPullsToo) {
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

TEST_F(OutageScenario, AbsentImagesArePulledThoughTheAgentsOwnQuestionsFail) {
  // The agent may lack the proxy that the runtime has: what it cannot ask itself is still pulled.
  std::vector<std::string> names = Tags(20);
  Warm(node, names);
  node.registries.Set("r.io", RegistryMood::kDown);
  node.RunFor(hours(1));
  node.runtime.Remove(names[0]);
  EXPECT_TRUE(node.RunUntil([&] { return node.LogLines("image pulled") == 1; }, seconds(30)));
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(30)));
}

TEST(OutageScenarioWithOptions, StartJitterHoldsOnlyFirstPulls) {
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
}  // namespace prefetch::tests::retry_scenario_test
