// Tags that move, vanish and return.
#include <gtest/gtest.h>

#include "scenario/node.h"

namespace prefetch::tests::refresh_scenario_test {
namespace {

using plan::OnFailure;
using plan::Reason;
using plan::Refresh;

const std::string kTag = "r.io/a:v1";

void Strict(plan::DesiredImage& desired) {
  desired.refresh = Refresh::kAlways;
}

FakeImage Version(const std::string& seed, std::uint64_t bytes = 10 * kMB) {
  return MakeImage(kTag, {{"base", 50 * kMB}, {seed, bytes}});
}

// A node that has the first version.
void Warm(Node& node, const std::function<void(plan::DesiredImage&)>& change = Refreshed) {
  node.runtime.Push(Version("one"));
  node.List({kTag}, change);
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(5)));
}

bool Fresh(Node& node) {
  const plan::ImageState& image = node.Image(kTag);
  return image.registry && image.registry->fresh;
}

using RefreshScenario = NodeTest;

TEST_F(RefreshScenario, AMovedTagIsPulledWhileTheOldImageServes) {
  Warm(node);
  node.runtime.SetBandwidth(kMB);
  node.runtime.Push(Version("two", 600 * kMB));
  bool always_ready = true;
  ASSERT_TRUE(
      node.RunUntil([&] { return node.Image(kTag).registry->reason == Reason::kTagMoved; }, hours(2)));
  EXPECT_HAS(node.Image(kTag).registry->message, "has changed");
  EXPECT_EQ(node.Image(kTag).registry->digest, Version("two", 600 * kMB).digest);
  EXPECT_FALSE(Fresh(node));
  node.RunFor(seconds(30));
  EXPECT_EQ(node.ReasonOf(kTag), Reason::kPresent);
  EXPECT_EQ(node.Image(kTag).pull.state, plan::PullState::kPulling);
  EXPECT_TRUE(node.RunUntil(
      [&] {
        always_ready = always_ready && node.Ready() && !node.IdOf(kTag).empty();
        return node.Image(kTag).digest == Version("two", 600 * kMB).digest;
      },
      hours(1)));
  EXPECT_TRUE(always_ready);
  EXPECT_TRUE(Fresh(node));
  EXPECT_EQ(node.Image(kTag).registry->changed_from, Version("one").digest);
  EXPECT_EQ(node.LogLines("tag changed"), 1);
  EXPECT_EQ(node.LogLines("image replaced"), 1);
  for (const std::string& line : node.log) EXPECT_LACKS(line, "newer");
}

// The runtime has the new image a moment before it says that the pull has ended.
TEST_F(RefreshScenario, AReplacementThatALookSeesBeforeThePullEndsIsTold) {
  Warm(node);
  node.runtime.SetBandwidth(kMB);
  node.runtime.Push(Version("two", 600 * kMB));
  ASSERT_TRUE(node.RunUntil([&] { return node.runtime.counters().pull_calls == 2; }, hours(2)));
  node.RunFor(seconds(30));
  node.runtime.Preload(Version("two", 600 * kMB));
  EXPECT_TRUE(node.RunUntil([&] { return node.LogLines("image replaced") == 1; }, hours(1)));
  node.RunFor(seconds(1));  // a Snapshot comes a moment after the log's line
  EXPECT_EQ(node.Image(kTag).registry->changed_from, Version("one").digest);
}

TEST_F(RefreshScenario, ATagThatMovesMovesBackVanishesAndReturns) {
  Warm(node);
  node.runtime.Push(Version("two"));
  ASSERT_TRUE(node.RunUntil([&] { return node.Image(kTag).digest == Version("two").digest; }, hours(2)));
  node.runtime.Push(Version("one"));
  ASSERT_TRUE(node.RunUntil([&] { return node.Image(kTag).digest == Version("one").digest; }, hours(2)));
  int pulls = node.runtime.counters().pull_calls;
  EXPECT_EQ(pulls, 3);
  node.runtime.DeleteTag(kTag);
  ASSERT_TRUE(
      node.RunUntil([&] { return node.Image(kTag).registry->reason == Reason::kTagMissing; }, hours(2)));
  node.RunFor(hours(12));
  EXPECT_TRUE(node.Ready());
  EXPECT_TRUE(node.Image(kTag).present);
  EXPECT_FALSE(Fresh(node));
  EXPECT_EQ(node.LogLines("tag missing"), 1);
  node.runtime.Push(Version("one"));
  ASSERT_TRUE(node.RunUntil([&] { return Fresh(node); }, hours(2)));
  EXPECT_EQ(node.LogLines("tag is back"), 1);
  EXPECT_EQ(node.runtime.counters().pull_calls, pulls) << "what is here is what came back";
}

TEST_F(RefreshScenario, AMissingTagNeedsTwoAnswersAMinuteApart) {
  Warm(node, [](plan::DesiredImage& desired) {
    Refreshed(desired);
    desired.on_tag_missing = OnFailure::kNotReady;
  });
  node.runtime.DeleteTag(kTag);
  ASSERT_TRUE(node.RunUntil(
      [&] { return node.Image(kTag).registry->reason == Reason::kTagMissingUnconfirmed; }, hours(2)));
  int asked = node.registries.requests();
  node.RunFor(seconds(55));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.registries.requests(), asked);
  EXPECT_TRUE(node.RunUntil([&] { return !node.Ready(); }, seconds(40)));
  EXPECT_EQ(node.ReasonOf(kTag), Reason::kTagMissing);
  EXPECT_TRUE(node.Image(kTag).present) << "nothing is removed because of an answer";
}

TEST_F(RefreshScenario, AccessDeniedForTenMinutes) {
  Warm(node);
  node.registries.Set("r.io", RegistryMood::kDenying);
  ASSERT_TRUE(node.RunUntil([&] { return !node.Ready(); }, hours(2)));
  EXPECT_EQ(node.ReasonOf(kTag), Reason::kAccessDenied);
  int asked = node.registries.requests();
  node.RunFor(minutes(10));
  EXPECT_LE(node.registries.requests() - asked, 2) << "accounts are locked by less";
  EXPECT_TRUE(node.Image(kTag).present);
  node.registries.Set("r.io", RegistryMood::kUp);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready() && Fresh(node); }, minutes(15)));
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
}

TEST_F(RefreshScenario, AccessDeniedIsKeptWhereTheListSaysSo) {
  Warm(node, [](plan::DesiredImage& desired) {
    Refreshed(desired);
    desired.on_access_denied = OnFailure::kKeep;
  });
  node.registries.Set("r.io", RegistryMood::kDenying);
  node.RunFor(hours(3));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.Image(kTag).registry->reason, Reason::kAccessDenied);
}

TEST(RefreshScenarioWithOptions, NewCredentialsAreTriedAtOnce) {
  Node node({.docker_config = R"({"auths":{}})"});
  Warm(node);
  node.registries.Set("r.io", RegistryMood::kDenying);
  ASSERT_TRUE(node.RunUntil([&] { return !node.Ready(); }, hours(2)));
  node.registries.Set("r.io", RegistryMood::kUp);
  node.WriteDockerConfig(R"({"auths":{"r.io":{"username":"ci","password":"p"}}})");
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(30)));
}

TEST_F(RefreshScenario, ADigestAndIfNotPresentAreNeverAsked) {
  FakeImage image = Version("one");
  node.runtime.Push(image);
  std::string by_digest = "r.io/a@" + image.digest;
  node.List({kTag, by_digest}, [&](plan::DesiredImage& desired) {
    if (desired.reference.has_digest()) desired.refresh = Refresh::kIfDigestChanged;
  });
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(5)));
  node.runtime.Push(Version("two"));
  node.RunFor(hours(48));
  EXPECT_EQ(node.registries.requests(), 0);
  EXPECT_EQ(node.runtime.counters().pull_calls, 2);
  EXPECT_EQ(node.Image(kTag).registry, nullptr);
}

TEST_F(RefreshScenario, AWarmStartAsksNobodyAndFreshnessIsUnknownForAnIntervalAtMost) {
  Warm(node);
  node.RestartAgent();
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(1)));
  EXPECT_EQ(node.registries.requests(), 0);
  EXPECT_FALSE(Fresh(node));
  EXPECT_EQ(node.Image(kTag).registry->reason, Reason::kNotChecked);
  EXPECT_TRUE(node.RunUntil([&] { return Fresh(node); }, hours(1)));
  EXPECT_EQ(node.registries.requests(), 1);
}

TEST_F(RefreshScenario, AStrictEntryIsAskedWithinSecondsOfAStart) {
  Warm(node, Strict);
  node.RestartAgent();
  node.RunFor(std::chrono::milliseconds(100));
  EXPECT_FALSE(node.Ready());
  EXPECT_EQ(node.ReasonOf(kTag), Reason::kNotChecked);
  EXPECT_EQ(node.Image(kTag).phase, plan::Phase::kProgressing);
  EXPECT_FALSE(node.Image(kTag).settled);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(20)));
}

TEST_F(RefreshScenario, ReadyForAlwaysFollowsTheRegistry) {
  Warm(node, [](plan::DesiredImage& desired) {
    Refreshed(desired);
    desired.ready_for = image::PullPolicy::kAlways;
  });
  node.registries.Set("r.io", RegistryMood::kDown);
  // The answer Same is good enough for an hour or two.
  node.RunFor(minutes(100));
  EXPECT_TRUE(node.Ready());
  EXPECT_TRUE(node.RunUntil([&] { return !node.Ready(); }, minutes(30)));
  EXPECT_EQ(node.ReasonOf(kTag), Reason::kUnreachable);
  node.registries.Set("r.io", RegistryMood::kUp);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(25)));
}

TEST_F(RefreshScenario, ARegistryRestoredFromAnOldBackup) {
  node.runtime.Push(Version("old"));
  node.runtime.Push(Version("one"));
  Warm(node);
  int pulls = node.runtime.counters().pull_calls;
  node.runtime.Push(Version("old"));  // the backup's
  ASSERT_TRUE(node.RunUntil([&] { return node.Image(kTag).digest == Version("old").digest; }, hours(2)));
  EXPECT_EQ(node.runtime.counters().pull_calls, pulls + 1);
  EXPECT_TRUE(node.Ready());
  EXPECT_TRUE(Fresh(node));
}

// The registry names what the mirror does not have yet: said, pulled for now and then, never in a loop.
TEST_F(RefreshScenario, AMirrorThatLagsIsNotPulledFromAgainAndAgain) {
  Warm(node);
  node.runtime.Lag(kTag, Version("one"));
  node.runtime.Push(Version("two"));
  ASSERT_TRUE(
      node.RunUntil([&] { return node.Image(kTag).registry->reason == Reason::kMirrorLag; }, hours(2)));
  node.RunFor(hours(24));
  EXPECT_TRUE(node.Ready());
  EXPECT_FALSE(Fresh(node));
  EXPECT_EQ(node.Image(kTag).digest, Version("one").digest);
  // After 10 min, doubling to six hours.
  int pulls = node.runtime.counters().pull_calls - 1;
  EXPECT_GE(pulls, 6);
  EXPECT_LE(pulls, 12);
  node.runtime.Lag(kTag, std::nullopt);
  EXPECT_TRUE(node.RunUntil([&] { return node.Image(kTag).digest == Version("two").digest; }, hours(8)));
  EXPECT_TRUE(Fresh(node));
}

// The registry then names another digest, which is worth a pull at once.
TEST_F(RefreshScenario, ALagEndsWhenTheTagMovesOn) {
  Warm(node);
  node.runtime.Lag(kTag, Version("one"));
  node.runtime.Push(Version("two"));
  node.RunFor(hours(24));
  ASSERT_EQ(node.Image(kTag).registry->reason, Reason::kMirrorLag);
  node.runtime.Lag(kTag, std::nullopt);
  node.runtime.Push(Version("three"));
  EXPECT_TRUE(node.RunUntil([&] { return node.Image(kTag).digest == Version("three").digest; }, minutes(67)));
}

// As Docker Hub says it: the last pulls are for what is absent.
TEST_F(RefreshScenario, UpdatesWaitWhileFewPullsAreLeft) {
  Warm(node);
  node.registries.Allow("r.io", image::PullAllowance{100, 8, seconds(21'600)});
  node.runtime.Push(Version("two"));
  node.RunFor(hours(4));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.Image(kTag).digest, Version("one").digest);
  EXPECT_EQ(node.Image(kTag).registry->reason, Reason::kTagMoved);
  ASSERT_EQ(node.Snapshot()->registries.size(), 1U);
  EXPECT_TRUE(node.Snapshot()->registries[0].updates_wait);
  node.runtime.Push(MakeImage("r.io/absent:v1", 10 * kMB));
  node.List({kTag, "r.io/absent:v1"}, Refreshed);
  EXPECT_TRUE(node.RunUntil([&] { return node.Image("r.io/absent:v1").present; }, minutes(5)));
  EXPECT_EQ(node.Image(kTag).digest, Version("one").digest);
  node.registries.Allow("r.io", image::PullAllowance{100, 90, seconds(21'600)});
  EXPECT_TRUE(node.RunUntil([&] { return node.Image(kTag).digest == Version("two").digest; }, hours(2)));
}

TEST_F(RefreshScenario, AnUpdateThatReadinessWaitsForTakesOneOfTheLastPulls) {
  Warm(node, Strict);
  node.registries.Allow("r.io", image::PullAllowance{100, 8, seconds(21'600)});
  node.runtime.Push(Version("two"));
  EXPECT_TRUE(node.RunUntil([&] { return node.Image(kTag).digest == Version("two").digest; }, hours(2)));
}

TEST_F(RefreshScenario, AFailedUpdateKeepsWhatIsHere) {
  Warm(node);
  node.runtime.Push(Version("two"));
  node.runtime.Fail(kTag, image::ErrorClass::kPlatformMismatch);
  ASSERT_TRUE(node.RunUntil([&] { return node.Image(kTag).registry->reason == Reason::kPlatformMismatch; },
                            hours(2)));
  node.RunFor(hours(10));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.Image(kTag).digest, Version("one").digest);
  EXPECT_EQ(node.runtime.counters().pull_calls, 2) << "what cannot run here is not pulled again";
  // The maintainers mend it under the same tag.
  node.runtime.Fail(kTag, std::nullopt);
  node.runtime.Push(Version("three"));
  EXPECT_TRUE(node.RunUntil([&] { return node.Image(kTag).digest == Version("three").digest; }, hours(2)));
}

TEST_F(RefreshScenario, ARefusedSignatureIsNotReadyUntilTheTagMovesBack) {
  Warm(node);
  node.runtime.Push(Version("evil"));
  node.runtime.Fail(kTag, image::ErrorClass::kSignatureRejected);
  ASSERT_TRUE(node.RunUntil([&] { return !node.Ready(); }, hours(2)));
  EXPECT_EQ(node.ReasonOf(kTag), Reason::kSignatureRejected);
  node.runtime.Push(Version("one"));
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, hours(2)));
}

TEST_F(RefreshScenario, WhereOnlyAPullCanAskThePullIsTheCheck) {
  Warm(node);
  node.registries.Set("r.io", RegistryMood::kOnlyByPull);
  node.RunFor(hours(5) + minutes(40));
  EXPECT_TRUE(Fresh(node));
  EXPECT_EQ(node.registries.requests(), 0);
  EXPECT_GE(node.runtime.counters().pull_calls, 1 + 4);
  EXPECT_LE(node.runtime.counters().pull_calls, 1 + 6);
  node.runtime.Push(Version("two"));
  EXPECT_TRUE(node.RunUntil([&] { return node.Image(kTag).digest == Version("two").digest; }, hours(2)));
  EXPECT_TRUE(node.Ready());
}

TEST_F(RefreshScenario, ADigestForAlwaysStaysReadyWhereOnlyAPullCanAsk) {
  FakeImage image = Version("one");
  node.runtime.Push(image);
  node.registries.Set("r.io", RegistryMood::kOnlyByPull);
  const std::string by_digest = "r.io/a@" + image.digest;
  node.List({by_digest}, [](plan::DesiredImage& desired) { desired.ready_for = image::PullPolicy::kAlways; });
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(5)));
  EXPECT_FALSE(node.RunUntil([&] { return !node.Ready(); }, hours(6))) << node.Image(by_digest).message;
  EXPECT_GE(node.runtime.counters().pull_calls, 1 + 4);
  EXPECT_LE(node.runtime.counters().pull_calls, 1 + 6);
  node.RestartAgent();
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
}

// The list demands the registry's agreement, and rules out the pull that could get it.
TEST_F(RefreshScenario, ATagForAlwaysSaysThatIfNotPresentRulesOutTheOnlyCheck) {
  node.runtime.Push(Version("one"));
  node.registries.Set("r.io", RegistryMood::kOnlyByPull);
  node.List({kTag}, [](plan::DesiredImage& desired) { desired.ready_for = image::PullPolicy::kAlways; });
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(5)));
  ASSERT_TRUE(node.RunUntil([&] { return !node.Ready(); }, hours(3)));
  EXPECT_EQ(node.ReasonOf(kTag), Reason::kIndeterminate);
  EXPECT_HAS(node.Image(kTag).message, "set refresh: IfDigestChanged");
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
  node.List({kTag}, [](plan::DesiredImage& desired) {
    desired.ready_for = image::PullPolicy::kAlways;
    desired.refresh = Refresh::kIfDigestChanged;
  });
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, hours(2)));
}

TEST_F(RefreshScenario, AnUnclearAnswerIsLeftToTheRuntimeOnceADay) {
  Warm(node);
  node.registries.Set("r.io", RegistryMood::kUnclear);
  node.RunFor(hours(72));
  EXPECT_TRUE(node.Ready());
  EXPECT_GE(node.runtime.counters().pull_calls, 1 + 3);
  EXPECT_LE(node.runtime.counters().pull_calls, 1 + 4);
}

TEST_F(RefreshScenario, SomebodyElsesPullIsNoticed) {
  Warm(node);
  node.runtime.Push(Version("two"));
  node.runtime.Preload(Version("two"));  // kubelet has pulled it for a pod with Always
  EXPECT_TRUE(node.RunUntil([&] { return node.Image(kTag).digest == Version("two").digest; }, seconds(10)));
  EXPECT_TRUE(node.RunUntil([&] { return Fresh(node); }, seconds(10))) << "asked again at once";
  node.RunFor(hours(3));
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
}

TEST_F(RefreshScenario, AListThatStopsAskingStopsAsking) {
  Warm(node);
  node.List({kTag});
  int asked = node.registries.requests();
  node.RunFor(hours(12));
  EXPECT_EQ(node.registries.requests(), asked);
  EXPECT_EQ(node.Image(kTag).registry, nullptr);
}

TEST_F(RefreshScenario, AShorterIntervalCountsFromTheListThatSaysSo) {
  Warm(node, [](plan::DesiredImage& desired) {
    Refreshed(desired);
    desired.refresh_interval = hours(48);
  });
  node.RunFor(hours(1));
  EXPECT_EQ(node.Snapshot()->registries.at(0).checks_per_hour, 1U);  // rounded up
  int asked = node.registries.requests();
  node.List({kTag}, [](plan::DesiredImage& desired) {
    Refreshed(desired);
    desired.refresh_interval = minutes(5);
  });
  EXPECT_TRUE(node.RunUntil([&] { return node.registries.requests() > asked; }, minutes(6)));
}

TEST(RefreshScenarioWithOptions, AnAgentWithoutRegistriesServesTheRest) {
  Node node({.asks_registries = false});
  Warm(node);
  node.RunFor(hours(12));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.registries.requests(), 0);
}

TEST_F(RefreshScenario, AStepOfTheTimeOfDayChangesNothing) {
  // Only monotonic time counts: a wall clock that jumps is not seen by any decision, and a machine that
  // slept for a week (monotonic time stands still meanwhile) goes on where it was.
  Warm(node);
  node.RunFor(minutes(30));
  int asked = node.registries.requests();
  node.clock.StepWall(hours(24 * 365));
  node.RunFor(minutes(1));
  EXPECT_EQ(node.registries.requests(), asked);
  EXPECT_TRUE(Fresh(node));
  node.clock.StepWall(-hours(24 * 365 * 2));
  node.RunFor(minutes(1));
  EXPECT_EQ(node.registries.requests(), asked);
  EXPECT_TRUE(Fresh(node));
  EXPECT_TRUE(node.Ready());
}

TEST(RefreshScenarioWithOptions, OnceAsksAndPullsBeforeItEnds) {
  Node node({.once = true});
  node.runtime.Push(Version("two"));
  node.runtime.Preload(Version("one"));
  node.List({kTag}, Refreshed);
  ASSERT_TRUE(node.RunUntil([&] { return node.Image(kTag).settled; }, minutes(5)));
  EXPECT_EQ(node.Image(kTag).digest, Version("two").digest);
  EXPECT_EQ(node.registries.requests(), 1);
}

}  // namespace
}  // namespace prefetch::tests::refresh_scenario_test
