// What is tried again, when, and how often.
#include <gtest/gtest.h>

#include "scenario/node.h"

namespace prefetch::tests::retry_scenario_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
constexpr std::uint64_t kMB = 1'000'000;

constexpr const char* kDockerConfig = R"({"auths":{"r.io":{"username":"ci","password":"wrong-password"}}})";

FakeImage Private(const std::string& name) {
  FakeImage image = MakeImage(name, kMB);
  image.username = "ci";
  image.password = "right-password";
  return image;
}

TEST(RetryScenario, AWrongPasswordOnFortyEntriesDoesNotLockTheAccount) {
  Node node({.docker_config = kDockerConfig});
  std::vector<std::string> names;
  for (int i = 0; i < 40; i++) {
    names.push_back("r.io/app" + std::to_string(i) + ":v1");
    node.runtime.Push(Private(names.back()));
  }
  node.List(names);
  node.RunFor(minutes(1));
  for (const std::string& name : names) EXPECT_EQ(node.ReasonOf(name), plan::Reason::kAccessDenied) << name;
  // A PullImage sends a refused password up to five times; a few pulls were under way at once.
  EXPECT_LE(node.runtime.counters().refused_passwords, 7 * 5);
  EXPECT_EQ(node.Snapshot()->readiness.phase, plan::Phase::kFailing);
}

TEST(RetryScenario, TheRightPasswordIsFoundWithoutARestart) {
  Node node({.docker_config = kDockerConfig});
  node.runtime.Push(Private("r.io/app:v1"));
  node.List({"r.io/app:v1"});
  node.RunFor(minutes(1));
  EXPECT_EQ(node.ReasonOf("r.io/app:v1"), plan::Reason::kAccessDenied);
  FakeImage open = MakeImage("r.io/app:v1", kMB);
  node.runtime.Push(open);  // the registry has mended its rights
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(10)));
}

TEST(RetryScenario, AnOutageOfAnHourIsSurvivedWithoutAStorm) {
  Node node;
  std::vector<std::string> names;
  for (int i = 0; i < 30; i++) {
    names.push_back("r.io/app" + std::to_string(i) + ":v1");
    node.runtime.Push(MakeImage(names.back(), kMB));
  }
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

TEST(RetryScenario, APassingFailureIsTriedAgainAtOnce) {
  Node node;
  node.runtime.SetBandwidth(10 * kMB);
  node.runtime.Push(MakeImage("r.io/a:v1", 100 * kMB));
  node.List({"r.io/a:v1"});
  node.RunFor(seconds(5));
  node.runtime.SetRegistry(RegistryState::kDown);
  node.runtime.SetRegistry(RegistryState::kUp);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(7)));
  EXPECT_EQ(node.runtime.counters().pull_calls, 2);
}

// `pin` concerns no pull. A changed priority does.
TEST(RetryScenario, AChangedPinEndsNoBackoff) {
  Node node;
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

TEST(RetryScenario, RateLimitHoldsTheRegistryNotTheOthers) {
  Node node;
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
TEST(RetryScenario, APullThatEndsWellDoesNotEndAnothersHold) {
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

TEST(RetryScenario, NoImageForThisPlatformIsNotTriedAgainBeforeTheListChanges) {
  Node node;
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.runtime.Fail("r.io/a:v1", image::ErrorClass::kPlatformMismatch);
  node.List({"r.io/a:v1"});
  node.RunFor(hours(24));
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
  EXPECT_EQ(node.Image("r.io/a:v1").pull.state, plan::PullState::kFailed);
  node.runtime.Fail("r.io/a:v1", std::nullopt);
  node.runtime.Push(MakeImage("r.io/b:v1", kMB));
  node.List({"r.io/a:v1", "r.io/b:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
}

TEST(RetryScenario, NoSecretIsEverSaid) {
  Node node({.docker_config = kDockerConfig});
  node.runtime.Push(Private("r.io/app:v1"));
  node.List({"r.io/app:v1"});
  node.RunFor(minutes(1));
  for (const std::string& line : node.log) EXPECT_EQ(line.find("wrong-password"), std::string::npos) << line;
  EXPECT_EQ(node.Image("r.io/app:v1").message.find("wrong-password"), std::string::npos);
}

// A tag that is pushed after its pull has failed is not waited for.
TEST(RetryScenario, ARequestTriesAtOnce) {
  Node node;
  node.List({"r.io/late:v1", "r.io/never:v1"});
  node.RunFor(minutes(1));
  ASSERT_EQ(node.ReasonOf("r.io/late:v1"), plan::Reason::kNotFound);
  const int before = node.runtime.counters().pull_calls;
  node.runtime.Push(MakeImage("r.io/late:v1", kMB));
  node.Retry({"r.io/late:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.Image("r.io/late:v1").ready; }, seconds(5)));
  EXPECT_EQ(node.runtime.counters().pull_calls, before + 1) << "the other one was not named";
  EXPECT_EQ(node.LogLines("retry requested"), 1);
}

TEST(RetryScenario, ARequestIsShownUntilItsPullHasEnded) {
  Node node;
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

TEST(RetryScenario, ARequestDoesNotReachARegistryThatLimitsTheRate) {
  Node node;
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

TEST(RetryScenario, ARequestEndsTheRestAfterAnOutage) {
  Node node;
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

TEST(RetryScenario, ARequestEndsTheHoldOfARegistryForAnImageThatHasNotFailed) {
  Node node;
  HoldRegistry(node);
  node.Retry({"r.io/new:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.Image("r.io/new:v1").ready; }, seconds(2)));
}

TEST(RetryScenario, APreflightEndsTheHoldOfARegistry) {
  Node node;
  HoldRegistry(node);
  node.RequestPull("r.io/other:v1");
  EXPECT_TRUE(node.RunUntil([&] { return !node.IdOf("r.io/other:v1").empty(); }, seconds(2)));
}

// A full disk pauses every pull. An image that has not failed itself has no other reason to wait.
TEST(RetryScenario, ARequestEndsThePauseAfterAFullDisk) {
  Node node;
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.runtime.Push(MakeImage("r.io/new:v1", kMB));
  node.runtime.SetDiskFull(true);
  node.List({"r.io/a:v1"});
  node.RunFor(seconds(30));
  ASSERT_EQ(node.ReasonOf("r.io/a:v1"), plan::Reason::kDiskFull);
  node.runtime.SetDiskFull(false);
  node.List({"r.io/a:v1", "r.io/new:v1"});
  node.RunFor(seconds(10));
  ASSERT_FALSE(node.Image("r.io/new:v1").ready);
  node.Retry({"r.io/new:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return node.Image("r.io/new:v1").ready; }, seconds(5)));
}

TEST(RetryScenario, ARequestForAPresentImageLeavesThatPauseAlone) {
  Node node;
  node.runtime.Push(MakeImage("r.io/here:v1", kMB));
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.runtime.Push(MakeImage("r.io/new:v1", kMB));
  node.List({"r.io/here:v1"});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(30)));
  node.runtime.SetDiskFull(true);
  node.List({"r.io/here:v1", "r.io/a:v1"});
  node.RunFor(seconds(30));
  ASSERT_EQ(node.ReasonOf("r.io/a:v1"), plan::Reason::kDiskFull);
  node.runtime.SetDiskFull(false);
  node.List({"r.io/here:v1", "r.io/a:v1", "r.io/new:v1"});
  node.Retry({"r.io/here:v1"});
  node.RunFor(seconds(5));
  EXPECT_FALSE(node.Image("r.io/new:v1").ready);
  EXPECT_FALSE(node.Image("r.io/here:v1").pull.retry_requested_at);
}

TEST(RetryScenario, AChangedEntryIsTriedAtOnce) {
  Node node;
  node.List({"r.io/late:v1"});
  node.RunFor(minutes(1));
  node.runtime.Push(MakeImage("r.io/late:v1", kMB));
  node.List({"r.io/late:v1", "r.io/other:v1"});
  node.RunFor(seconds(10));
  ASSERT_FALSE(node.Image("r.io/late:v1").ready) << "a neighbour changes nothing";
  node.List({"r.io/late:v1"}, [](plan::DesiredImage& desired) { desired.priority = 1; });
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(5)));
}

// A preflight that waits for an image of the list.
TEST(RetryScenario, APreflightTriesAtOnce) {
  Node node;
  node.List({"r.io/late:v1"});
  node.RunFor(minutes(1));
  node.runtime.Push(MakeImage("r.io/late:v1", kMB));
  node.RequestPull("r.io/late:v1");
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(5)));
}

}  // namespace
}  // namespace prefetch::tests::retry_scenario_test
