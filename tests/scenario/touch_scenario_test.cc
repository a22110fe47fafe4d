// Touching, from what closes an image to what opens it, and keeps it open.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>

#include "fakes/rbac.h"
#include "kube/touch_pod.h"
#include "rows.h"
#include "scenario/touch_scenario.h"

namespace prefetch::tests::touch_scenario_test {
namespace {

using kubelet::VerdictResult;
using kubelet::VerificationPolicy;
using plan::Reason;
using plan::TouchObstacle;
using plan::TouchState;

TEST_F(TouchScenario, ClosedByAPodsSecretItIsOpenAgainWithinFiveSeconds) {
  Node& node = MakeReady();
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kPreloaded);
  node.RunFor(minutes(1));
  EXPECT_EQ(PodsCreated(), 0) << "merely preloaded, and nobody asked for more";
  base::Duration before = node.Elapsed();
  PodPulls(kApp, {.secret = SecretOf("team")});
  ASSERT_TRUE(Opens(seconds(30)));
  EXPECT_LE(node.Elapsed() - before, seconds(5));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(TouchOf().state, TouchState::kDone);
  EXPECT_EQ(TouchOf().attempts, 1);
  node.RunFor(seconds(10));
  EXPECT_EQ(PodsThere(), 0) << "taken away afterwards";
  EXPECT_EQ(node.LogLines("image touched"), 1);
  // Open for good: nothing is touched again.
  PodPulls(kApp, {.secret = SecretOf("other")});
  node.RunFor(hours(1));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(PodsCreated(), 1);
}

TEST_F(TouchScenario, WhileItIsTouchedItIsOnItsWayAndNotFailed) {
  Node& node = MakeReady();
  PodPulls(kApp, {.secret = SecretOf("team")});
  ASSERT_TRUE(node.RunUntil([&] { return !node.Ready(); }, seconds(10)));
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kTouching);
  EXPECT_EQ(node.Image(kApp).phase, plan::Phase::kProgressing);
  EXPECT_FALSE(node.Image(kApp).settled);
  EXPECT_HAS(node.Image(kApp).message, "1 secret");
  ASSERT_TRUE(node.RunUntil([&] { return node.Image(kApp).settled; }, minutes(1)));
  EXPECT_TRUE(node.Ready());
}

TEST_F(TouchScenario, AlwaysVerifyWithTwoHundredEntries) {
  std::vector<std::string> images = Numbered("reg.example.test/a", 200);
  Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify), images);
  for (const std::string& image : images) node.runtime.Preload(MakeImage(image, 10'000'000));
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(30))) << node.Snapshot()->readiness.message;
  EXPECT_LE(PodsCreated(), 10);
  for (const plan::ImageState& image : node.Snapshot()->images) EXPECT_EQ(image.reason, Reason::kOpenToNode);
}

TEST_F(TouchScenario, WhatIsPulledOneAfterTheOtherIsTouchedTogether) {
  std::vector<std::string> images = Numbered("reg.example.test/a", 30);
  NodeOptions options = WithTouch(VerificationPolicy::kAlwaysVerify);
  Node& node = Make(std::move(options), images);
  node.runtime.SetBandwidth(30'000'000);  // 10 s in all
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  EXPECT_LE(PodsCreated(), 4);
}

TEST_F(TouchScenario, NodeCredentialsOpenWhatIsPrivate) {
  Node& node = MakeReady();
  node.runtime.Push(Private(MakeImage(kApp, 10'000'000), "node", "pw-of-node"));
  node.Cluster().pods.SetNodeCredential(Auth("node"));
  PodPulls(kApp, {.secret = SecretOf("team")});
  EXPECT_TRUE(Opens(seconds(5)));
}

TEST_F(TouchScenario, AnotherContentBehindTheTagIsTouchedAgain) {
  Node& node = Make(WithTouch(), {kApp}, OpenAlways);
  ASSERT_TRUE(Opens(minutes(1)));
  EXPECT_EQ(PodsCreated(), 1);
  FakeImage next = MakeImage(kApp, 12'000'000);
  node.runtime.Push(next);
  node.runtime.Preload(next);  // somebody has pulled the moved tag
  ASSERT_TRUE(node.RunUntil([&] { return PodsCreated() == 2 && node.ReasonOf(kApp) == Reason::kOpenToNode; },
                            minutes(1)));
  EXPECT_EQ(node.Image(kApp).image_id, next.config.digest);
}

TEST_F(TouchScenario, AfterThreeWithoutEffectAnotherContentGetsItsOwnThree) {
  Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify));
  node.runtime.Preload(MakeImage(kApp, 10'000'000));
  node.runtime.Push(Private(MakeImage(kApp, 10'000'000), "ada"));
  ASSERT_TRUE(node.RunUntil([&] { return node.ReasonOf(kApp) == Reason::kTouchIneffective; }, minutes(10)));
  FakeImage next = MakeImage(kApp, 12'000'000);
  node.runtime.Push(next);
  node.runtime.Preload(next);
  EXPECT_TRUE(Opens(minutes(1)));
}

// No other event has to wake the agent: looks at the runtime are seconds apart.
TEST_F(TouchScenario, TheNextTryBeginsAtTheTimeThatIsAnnounced) {
  Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify));
  node.runtime.Preload(MakeImage(kApp, 10'000'000));
  node.runtime.Push(Private(MakeImage(kApp, 10'000'000), "ada"));
  ASSERT_TRUE(node.RunUntil([&] { return TouchOf().state == TouchState::kWaiting; }, minutes(10)));
  ASSERT_TRUE(TouchOf().next_attempt_at);
  const base::WallTime announced = *TouchOf().next_attempt_at;
  const int before = PodsCreated();
  ASSERT_TRUE(node.RunUntil([&] { return PodsCreated() > before; }, minutes(10)));
  EXPECT_LE(std::chrono::abs(node.clock.Wall() - announced), std::chrono::milliseconds(100));
}

TEST_F(TouchScenario, ARecordThatAGarbageCollectionTookAwayIsMadeAgain) {
  Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify));
  ASSERT_TRUE(Opens(minutes(1)));
  node.RunFor(minutes(1));
  node.Kubelet([](FakeKubelet& kubelet) { kubelet.GarbageCollect({}); });
  ASSERT_TRUE(node.RunUntil([&] { return !node.Ready(); }, seconds(10)));
  EXPECT_TRUE(Opens(seconds(5)));
  EXPECT_EQ(PodsCreated(), 2);
}

TEST_F(TouchScenario, ImageVolumesDoTheSame) {
  std::vector<std::string> images = Numbered("reg.example.test/a", 5);
  NodeOptions options = WithTouch(VerificationPolicy::kAlwaysVerify);
  options.touch_image_volumes = true;
  Node& node = Make(std::move(options), images);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  EXPECT_LE(PodsCreated(), 2);
}

TEST_F(TouchScenario, NeverMeansNever) {
  Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify), {kApp},
                    [](plan::DesiredImage& desired) { desired.open = plan::Open::kNever; });
  node.RunFor(minutes(10));
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kVerificationAlways);
  EXPECT_EQ(PodsCreated(), 0);
}

TEST_F(TouchScenario, AKubeletThatIsTooOldToCareIsNotTouched) {
  NodeOptions options = WithTouch();
  options.kubelet = kubelet::KubeletDeclarations{.version = image::KubeletVersion{1, 32}};
  Node& node = Make(std::move(options), {kApp}, OpenAlways);
  node.RunFor(minutes(10));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(PodsCreated(), 0);
}

// After any history of pods with secrets an entry with open: Always stays open, from its first touch on.
TEST_F(TouchScenario, WhateverPodsDoAnEntryThatIsAlwaysOpenStaysOpen) {
  for (unsigned seed = 1; seed <= 8; seed++) {
    std::mt19937 random(seed);
    auto pick = [&](int most) { return std::uniform_int_distribution<int>(0, most - 1)(random); };
    std::vector<std::string> images = Numbered("reg.example.test/team/p", 4);
    Node& node = Make(WithTouch(), images, OpenAlways);
    ASSERT_TRUE(node.RunUntil(
        [&] {
          const auto& all = node.Snapshot()->images;
          return std::all_of(all.begin(), all.end(),
                             [](const auto& one) { return one.reason == Reason::kOpenToNode; });
        },
        minutes(1)));
    int touched = PodsCreated();
    for (int step = 0; step < 60; step++) {
      const std::string& image = images[pick(4)];
      switch (pick(4)) {
        case 0:
          PodPulls(image, {.secret = SecretOf("team" + std::to_string(pick(5)))});
          break;
        case 1:
          PodPulls(image, {.service_account = kubelet::Coordinates{"u", "team", "sa"}});
          break;
        case 2:
          node.Kubelet([&](FakeKubelet& kubelet) {
            kubelet.BeginPull(image);
            kubelet.FailPull(image);
          });
          break;
        case 3:
          node.RestartAgent();
          ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(30)));
          break;
      }
      node.RunFor(seconds(pick(20)));
      for (const plan::ImageState& state : node.Snapshot()->images) {
        ASSERT_TRUE(state.verdicts) << "seed " << seed << " step " << step;
        ASSERT_EQ(state.verdicts->never.result, VerdictResult::kStarts)
            << "seed " << seed << " step " << step;
      }
    }
    EXPECT_EQ(PodsCreated(), touched) << "seed " << seed;
    node_.reset();
  }
}

// And one that pods had closed before it could be touched is opened, and stays so.
TEST_F(TouchScenario, WhateverPodsDidBeforeAnEntryBecomesOpen) {
  for (unsigned seed = 1; seed <= 8; seed++) {
    std::mt19937 random(seed);
    Node& node = Make(WithTouch(seed % 2 == 0 ? VerificationPolicy::kAlwaysVerify
                                              : VerificationPolicy::kNeverVerifyPreloadedImages),
                      {kApp}, OpenAlways);
    node.runtime.Preload(MakeImage(kApp, 10'000'000));
    for (int step = 0; step < 10; step++) {
      PodPulls(kApp, {.secret = SecretOf("team" + std::to_string(random() % 5))});
      node.RunFor(std::chrono::milliseconds(random() % 2000));
    }
    EXPECT_TRUE(Opens(seconds(30))) << "seed " << seed;
    EXPECT_EQ(node.Image(kApp).verdicts->never.result, VerdictResult::kStarts);
    node_.reset();
  }
}

// Obstacles to a touch: each by itself, the agent's report of it, and what comes after it.

// A registry may give access at any time, and nothing on the node tells.
TEST_F(TouchScenario, AKubeletWithoutCredentialsIsTouchedThreeTimesThenOnceAnHour) {
  Node& node = MakeReady();
  node.runtime.Push(Private(MakeImage(kApp, 10'000'000), "ada", "pw-of-ada"));
  PodPulls(kApp, {.secret = SecretOf("team")});
  ASSERT_TRUE(node.RunUntil([&] { return node.ReasonOf(kApp) == Reason::kTouchIneffective; }, minutes(10)));
  EXPECT_EQ(PodsCreated(), 3);
  plan::TouchStatus touch = TouchOf();
  EXPECT_EQ(touch.obstacle, TouchObstacle::kNoNodeCredentials);
  EXPECT_HAS(touch.why, "ErrImagePull: unexpected status from HEAD request: 401");
  EXPECT_HAS(node.Image(kApp).message, "401 Unauthorized");
  EXPECT_EQ(node.Image(kApp).phase, plan::Phase::kFailing);
  node.RunFor(hours(24));
  EXPECT_LE(PodsCreated(), 3 + 24 * 60 / 45) << "a quarter less by chance";
  EXPECT_GE(PodsCreated(), 3 + 24 * 60 / 80);
  EXPECT_EQ(PodsThere(), 0);
  node.runtime.Push(MakeImage(kApp, 10'000'000));
  EXPECT_TRUE(Opens(hours(2)));
}

TEST_F(TouchScenario, WhatThisAgentPulledWithAPullSecretIsNotTouched) {
  NodeOptions options = WithTouch(VerificationPolicy::kAlwaysVerify);
  options.pull_secret = R"({"auths":{"reg.example.test":{"username":"ada","password":"pw-of-ada"}}})";
  Node& node = Make(std::move(options));
  node.runtime.Push(Private(MakeImage(kApp, 10'000'000), "ada", "pw-of-ada"));
  ASSERT_TRUE(
      node.RunUntil([&] { return node.Image(kApp).present && node.Image(kApp).verdicts; }, minutes(1)));
  node.RunFor(minutes(10));
  EXPECT_TRUE(node.Image(kApp).origin.exposed);
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kTouchIneffective);
  EXPECT_EQ(TouchOf().obstacle, TouchObstacle::kPullSecret);
  EXPECT_HAS(TouchOf().why, "team-pull");
  EXPECT_EQ(PodsCreated(), 0);
}

TEST_F(TouchScenario, ATagThatIsGoneCannotBeTouched) {
  Node& node = MakeReady();
  PodPulls(kApp, {.secret = SecretOf("team")});
  node.runtime.DeleteTag(kApp);
  ASSERT_TRUE(node.RunUntil([&] { return node.ReasonOf(kApp) == Reason::kTouchIneffective; }, minutes(10)));
  EXPECT_EQ(PodsCreated(), 3);
  EXPECT_EQ(TouchOf().obstacle, TouchObstacle::kPullFailed) << TouchOf().why;
  EXPECT_HAS(TouchOf().why, "not found");
  node.RunFor(hours(24));
  EXPECT_LE(PodsCreated(), 3 + 24 * 60 / 45) << "once an hour, a quarter less by chance";
  EXPECT_GE(PodsCreated(), 3 + 24 * 60 / 80);
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kTouchIneffective) << "and it says so between the tries";
  // The same tag is pushed again.
  node.runtime.Push(MakeImage(kApp, 10'000'000));
  EXPECT_TRUE(Opens(minutes(76)));
}

TEST_F(TouchScenario, AKubeletThatPullsAndRecordsNothingSaysSo) {
  Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify));
  node.Cluster().pods.SetRecords(false);
  ASSERT_TRUE(node.RunUntil([&] { return node.ReasonOf(kApp) == Reason::kTouchIneffective; }, minutes(10)));
  EXPECT_EQ(PodsCreated(), 3);
  EXPECT_EQ(TouchOf().obstacle, TouchObstacle::kNotRecorded) << TouchOf().why;
  node.RunFor(hours(24));
  EXPECT_EQ(PodsCreated(), 3);
}

TEST_F(TouchScenario, ARuntimeWhoseRecordsNeverMatchIsNotTouched) {
  NodeOptions options = WithTouch(VerificationPolicy::kAlwaysVerify);
  options.persona = Persona::kCrio134;
  Node& node = Make(std::move(options));
  ASSERT_TRUE(node.RunUntil([&] { return node.ReasonOf(kApp) == Reason::kTouchIneffective; }, minutes(10)));
  EXPECT_EQ(TouchOf().obstacle, TouchObstacle::kRecordsNeverMatch) << TouchOf().why;
  EXPECT_HAS(TouchOf().why, "CRI-O 1.35.2 mends it");
  EXPECT_EQ(PodsCreated(), 0);
}

TEST_F(TouchScenario, AdmissionThatAddsAPullSecretIsSeenBeforeItDoesHarm) {
  Node& node = Make(WithTouch(), {kApp}, OpenAlways);
  node.Cluster().server.SetAdmission([](doc::Node& pod) {
    doc::Node secret = doc::Node::Mapping();
    secret.Set("name", doc::Node::String("corp-pull"));
    for (doc::Member& member : pod.members) {
      if (member.key == "spec") member.value.Set("imagePullSecrets", doc::Node::Sequence({secret}));
    }
  });
  node.RunFor(minutes(30));
  EXPECT_EQ(PodsCreated(), 0);
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kPreloaded) << "it stays what it was";
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(TouchOf().state, TouchState::kIneffective);
  EXPECT_EQ(TouchOf().obstacle, TouchObstacle::kAdmission);
  EXPECT_HAS(TouchOf().why, "corp-pull");
  EXPECT_LE(node.LogLines("touch failed"), 1);
  EXPECT_EQ(node.LogLines("touches paused"), 1);
  // Once a person has mended it, it goes on by itself.
  node.Cluster().server.SetAdmission(nullptr);
  EXPECT_TRUE(Opens(minutes(15)));
}

TEST_F(TouchScenario, AlwaysPullImagesDoesNoHarm) {
  Node& node = Make(WithTouch(), {kApp}, OpenAlways);
  node.Cluster().server.SetAdmission([](doc::Node& pod) {
    for (doc::Member& member : pod.members) {
      if (member.key != "spec") continue;
      for (doc::Member& field : member.value.members) {
        if (field.key != "containers") continue;
        for (doc::Node& container : field.value.items) {
          for (doc::Member& one : container.members) {
            if (one.key == "imagePullPolicy") one.value = doc::Node::String("Always");
          }
        }
      }
    }
  });
  EXPECT_TRUE(Opens(minutes(1)));
}

TEST_F(TouchScenario, AKubeletThatNeverRunsThePod) {
  Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify));
  node.Cluster().pods.SetRuns(false);
  ASSERT_TRUE(node.RunUntil([&] { return node.ReasonOf(kApp) == Reason::kTouchIneffective; }, minutes(10)));
  EXPECT_EQ(TouchOf().obstacle, TouchObstacle::kPodNeverRan);
  EXPECT_EQ(PodsCreated(), 3);
  // It is tried on, seldom: nothing tells when such a kubelet is mended.
  node.Cluster().pods.SetRuns(true);
  EXPECT_TRUE(Opens(minutes(15)));
}

TEST_F(TouchScenario, AKubeletThatHasNoRoomForThePodSaysSo) {
  Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify));
  node.Cluster().pods.Refuse("OutOfpods", "Node didn't have enough resource: pods");
  ASSERT_TRUE(node.RunUntil([&] { return node.ReasonOf(kApp) == Reason::kTouchIneffective; }, minutes(10)));
  EXPECT_EQ(TouchOf().obstacle, TouchObstacle::kPodNeverRan);
  EXPECT_HAS(TouchOf().why, "OutOfpods: Node didn't");
}

struct RefusalCase {
  std::string name;
  FakeApiServer::Refusal refusal;
};
TEST_TABLE_F(TouchRefused, IsIneffectiveAfterThreeAndGoesOnWhenItIsMended, TouchScenario, RefusalCase) {
  Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify));
  node.Cluster().server.SetRefusal([&](const doc::Node&) { return row.refusal; });
  ASSERT_TRUE(node.RunUntil([&] { return node.ReasonOf(kApp) == Reason::kTouchIneffective; }, minutes(10)));
  EXPECT_EQ(TouchOf().obstacle, TouchObstacle::kAdmission) << TouchOf().why;
  EXPECT_HAS(TouchOf().why, row.refusal.message);
  EXPECT_EQ(PodsCreated(), 0) << "the dry run was refused already";
  std::size_t before = node.Cluster().server.Requests().size();
  node.RunFor(hours(1));
  EXPECT_LE(node.Cluster().server.Requests().size() - before, 14U);
  node.Cluster().server.SetRefusal(nullptr);
  EXPECT_TRUE(Opens(minutes(15)));
}
TEST_ROWS(Touch, TouchRefused,
          {"PodSecurity",
           {403, "Forbidden", "pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\""}},
          {"Policy",
           {403, "Forbidden",
            "pods \"x\" is forbidden: ValidatingAdmissionPolicy 'prefetchd-touch' denied request"}},
          {"WebhookThatKnowsNoDryRun",
           {400, "BadRequest", "admission webhook \"w\" does not support dry run"}});

TEST_F(TouchScenario, WithoutItsNamespaceItSaysSoAndGoesOnWhenDeployTouchIsApplied) {
  Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify));
  node.Cluster().server.RemoveNamespace("prefetchd-touch");
  ASSERT_TRUE(node.RunUntil([&] { return node.ReasonOf(kApp) == Reason::kTouchIneffective; }, minutes(10)));
  EXPECT_EQ(TouchOf().obstacle, TouchObstacle::kNamespaceMissing) << TouchOf().why;
  ASSERT_TRUE(node.Cluster().server.Apply(ShippedTouchManifests()));
  EXPECT_TRUE(Opens(minutes(15)))
      << "namespace, account, quota and rights of deploy/touch are all that it takes";
}

TEST_F(TouchScenario, AQuotaThatOthersHaveFilledIsWaitedFor) {
  Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify));
  ASSERT_TRUE(node.Cluster().server.Apply(
      "{kind: ResourceQuota, metadata: {name: small, namespace: prefetchd-touch}, "
      "spec: {hard: {pods: \"1\", requests.cpu: \"1\"}}}"));
  node.Cluster().server.Put("pods/prefetchd-touch/of-another-node", R"({"spec":{"nodeName":"n2"}})");
  ASSERT_TRUE(node.RunUntil([&] { return node.ReasonOf(kApp) == Reason::kTouchIneffective; }, minutes(10)));
  EXPECT_EQ(TouchOf().obstacle, TouchObstacle::kQuota) << TouchOf().why;
  node.Cluster().server.Delete("pods/prefetchd-touch/of-another-node");
  EXPECT_TRUE(Opens(minutes(15)));
}

TEST_F(TouchScenario, ARegistryThatIsAwayIsWaitedFor) {
  Node& node = MakeReady();
  PodPulls(kApp, {.secret = SecretOf("team")});
  node.runtime.SetRegistry(RegistryState::kDown);
  node.RunFor(hours(2));
  EXPECT_EQ(TouchOf().obstacle, TouchObstacle::kRegistryTrouble) << TouchOf().why;
  EXPECT_NE(node.ReasonOf(kApp), Reason::kTouchIneffective);
  EXPECT_LE(PodsCreated(), 40);
  node.runtime.SetRegistry(RegistryState::kUp);
  EXPECT_TRUE(Opens(minutes(7)));
}

TEST_F(TouchScenario, OneBadImageDoesNotHoldUpTheOthers) {
  const std::string bad = "reg.example.test/bad:v1";
  Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify), {kApp, bad});
  FakeImage secret = MakeImage(bad, 10'000'000);
  node.runtime.Preload(secret);
  secret.username = "ada";
  node.runtime.Push(secret);
  ASSERT_TRUE(Opens(seconds(20)));
  ASSERT_TRUE(node.RunUntil([&] { return node.ReasonOf(bad) == Reason::kTouchIneffective; }, minutes(10)));
  EXPECT_EQ(TouchOf(bad).attempts, 3);
  EXPECT_EQ(TouchOf(kApp).attempts, 1);
}

TEST_F(TouchScenario, WithoutAnApiServerItSaysSoAndGoesOn) {
  NodeOptions options = WithTouch(VerificationPolicy::kAlwaysVerify);
  options.touch = false;
  options.touch_nowhere = true;
  Node& node = Make(std::move(options));
  node.RunFor(minutes(1));
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kVerificationAlways);
  ASSERT_EQ(node.Snapshot()->problems.size(), 1U);
  EXPECT_HAS(node.Snapshot()->problems[0], "--touch");
}

TEST_F(TouchScenario, AProviderWithTokenAttributesForbidsTheTouch) {
  NodeOptions options = WithTouch(VerificationPolicy::kAlwaysVerify);
  options.provider_config = tests::ProviderOfAccounts("reg.example.test/team", "1h");
  const std::string other = "reg.example.test/free/app:v1";
  Node& node = Make(std::move(options), {kApp, other});
  ASSERT_TRUE(Opens(minutes(1), other)) << "the rest of its pod goes on";
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kTouchIneffective);
  EXPECT_EQ(TouchOf().obstacle, TouchObstacle::kTokenProvider);
  EXPECT_EQ(TouchOf().attempts, 0);
}

// Nobody else would try it before its pause of minutes is over.
TEST_F(TouchScenario, AKubeletThatWasRestartedIsAskedAgainWithinSeconds) {
  NodeOptions options = WithTouch();
  options.sees_processes = true;
  Node& node = Make(std::move(options));
  node.KubeletRuns("77");
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  node.runtime.Push(Private(MakeImage(kApp, 10'000'000), "ci", "password"));
  PodPulls(kApp, {.secret = SecretOf("a")});
  auto waits_long = [&] {
    plan::TouchStatus touch = TouchOf();
    return touch.state == plan::TouchState::kWaiting && touch.next_attempt_at &&
           *touch.next_attempt_at - node.clock.Wall() > seconds(40);
  };
  ASSERT_TRUE(node.RunUntil(waits_long, minutes(10)));
  node.runtime.Push(MakeImage(kApp, 10'000'000));
  node.KubeletRuns("78");
  EXPECT_TRUE(Opens(seconds(20)));
}

// The life of a touch pod: an agent that goes meanwhile, an API server in trouble, rights that are missing.

TEST_F(TouchScenario, AnAgentThatIsReplacedMidwayLeavesNothingBehind) {
  Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify));
  node.Cluster().pods.SetSpeed(seconds(10), seconds(1));
  ASSERT_TRUE(node.RunUntil([&] { return PodsThere() == 1; }, minutes(1)));
  node.RestartAgent();
  node.Cluster().pods.SetSpeed(seconds(1), seconds(1));
  ASSERT_TRUE(Opens(seconds(30)));
  EXPECT_EQ(node.LogLines("touch pod found"), 1);
  node.RunFor(seconds(10));
  EXPECT_EQ(PodsThere(), 0);
}

// And the agent does not wait for an API server that hangs.
TEST_F(TouchScenario, SigtermTakesThePodAway) {
  for (bool hangs : {false, true}) {
    Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify));
    node.Cluster().pods.SetSpeed(hours(1), seconds(1));
    ASSERT_TRUE(node.RunUntil([&] { return PodsThere() == 1; }, minutes(1)));
    if (hangs) node.Cluster().server.Fail({.hang = true, .times = 100});
    auto started = std::chrono::steady_clock::now();
    node.StopAgent();
    EXPECT_LE(std::chrono::steady_clock::now() - started, seconds(1)) << hangs;
    EXPECT_TRUE(hangs || PodsThere() == 0);
    node_.reset();
  }
}

TEST_F(TouchScenario, APodThatCouldNotBeDeletedIsDeletedLater) {
  Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify));
  node.Cluster().pods.SetSpeed(seconds(10), seconds(1));
  ASSERT_TRUE(node.RunUntil([&] { return PodsThere() == 1; }, minutes(1)));
  node.Cluster().server.GoAway();
  ASSERT_TRUE(Opens(minutes(1))) << "kubelet goes on without the API server";
  node.RunFor(minutes(30));
  EXPECT_EQ(node.LogLines("touch pod not deleted"), 1);
  EXPECT_EQ(PodsThere(), 1);
  node.Cluster().server.ComeBack();
  EXPECT_TRUE(node.RunUntil([&] { return PodsThere() == 0; }, minutes(7)));
}

TEST_F(TouchScenario, APodWhoseCreationWasNotConfirmedIsNotLeftBehind) {
  Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify));
  std::atomic<int> creations = 0;
  node.Cluster().server.SetWatcher([&](const std::string& request) {
    // The first is the dry run.
    if (request.starts_with("POST ") && request.find("/pods") != std::string::npos && ++creations == 2)
      node.Cluster().server.Fail({.cut = true});
  });
  ASSERT_TRUE(Opens(minutes(5)));
  EXPECT_GE(creations, 2);
  node.RunFor(minutes(1));
  EXPECT_EQ(PodsThere(), 0);
  node.Cluster().server.SetWatcher(nullptr);
}

// Right after its creation a pod has no status to tell of.
TEST_F(TouchScenario, ThePodIsLookedAtASecondAfterItsCreation) {
  Node& node = MakeReady();
  node.Cluster().pods.SetSpeed(hours(1), seconds(1));
  auto looks = [&] {
    const std::vector<std::string> requests = node.Cluster().server.Requests();
    return std::count_if(requests.begin(), requests.end(), [](const std::string& line) {
      return line.starts_with("GET /api/v1/namespaces/prefetchd-touch/pods/");
    });
  };
  const auto before = looks();
  PodPulls(kApp, {.secret = SecretOf("team")});
  ASSERT_TRUE(node.RunUntil([&] { return PodsThere() == 1; }, minutes(1)));
  node.RunFor(milliseconds(900));
  EXPECT_EQ(looks(), before);
  node.RunFor(milliseconds(200));
  EXPECT_EQ(looks(), before + 1);
}

TEST_F(TouchScenario, TwoInstancesDoNotMixUpTheirPods) {
  NodeOptions options = WithTouch(VerificationPolicy::kAlwaysVerify);
  options.second_instance = "b";
  Node& node = Make(std::move(options));
  node.Cluster().pods.SetSpeed(seconds(2), seconds(1));
  ASSERT_TRUE(node.RunUntil([&] { return PodsThere() == 2; }, minutes(1))) << "each has its own";
  ASSERT_TRUE(Opens(seconds(20)));
  ASSERT_TRUE(node.RunUntil([&] { return node.SecondSnapshot()->readiness.ready; }, seconds(20)));
  node.RunFor(seconds(10));
  EXPECT_EQ(PodsThere(), 0);
  EXPECT_EQ(node.LogLines("touch pod found"), 0);
}

TEST_F(TouchScenario, AnApiServerThatIsAwayIsWaitedFor) {
  Node& node = MakeReady();
  node.Cluster().server.GoAway();
  PodPulls(kApp, {.secret = SecretOf("team")});
  node.RunFor(hours(2));
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kTouching);
  EXPECT_EQ(TouchOf().obstacle, TouchObstacle::kApiServer);
  EXPECT_TRUE(node.Image(kApp).settled) << "nobody has to wait for it";
  node.Cluster().server.ComeBack();
  EXPECT_TRUE(Opens(minutes(7)));
}

// A temporary fault delays the touch while it lasts, and does nothing else.
TEST_TABLE_F(TouchFault, IsWaitedFor, TouchScenario, std::pair<const char*, Fault>) {
  Node& node = MakeReady();
  Fault fault = row.second;
  fault.times = 6;
  node.Cluster().server.Fail(fault);
  PodPulls(kApp, {.secret = SecretOf("team")});
  ASSERT_TRUE(Opens(minutes(10))) << TouchOf().why;
  node.RunFor(minutes(1));
  EXPECT_EQ(PodsThere(), 0);
  EXPECT_EQ(TouchOf().state, TouchState::kDone);
}
INSTANTIATE_TEST_SUITE_P(Touch, TouchFault,
                         testing::Values(std::pair("Unauthorized", Fault{.status = 401}),
                                         std::pair("NotFound", Fault{.status = 404}),
                                         std::pair("Conflict", Fault{.status = 409}),
                                         std::pair("Gone", Fault{.status = 410}),
                                         std::pair("TooMany", Fault{.status = 429, .retry_after = "5"}),
                                         std::pair("ServerError", Fault{.status = 500}),
                                         std::pair("Overloaded", Fault{.status = 503}),
                                         std::pair("Cut", Fault{.cut = true})),
                         [](const auto& row) { return row.param.first; });

// A pod of ours that an answer was lost of, or that somebody restored.
TEST_F(TouchScenario, APodThatHasOurNameMeanwhileIsTakenAwayAndTheTouchGoesOn) {
  Node& node = MakeReady();
  for (int slot = 0; slot < kube::kTouchPodNames; slot++) {
    node.Cluster().server.Put(
        "pods/prefetchd-touch/" + kube::TouchPodName("n1", "a", slot),
        R"({"metadata":{"uid":"old"},"spec":{"nodeName":"n1"},"status":{"phase":"Failed"}})");
  }
  PodPulls(kApp, {.secret = SecretOf("team")});
  ASSERT_TRUE(Opens(minutes(1))) << TouchOf().why;
  EXPECT_GE(node.LogLines("touch pod found"), 1);
  EXPECT_EQ(TouchOf().attempts, 1);
}

// A story that makes use of every right: what a dead agent left is found and deleted, an image is opened, and
// nothing stays behind.
std::string Story(Node& node, const std::function<int()>& pods) {
  node.RunUntil([&] { return node.ReasonOf(kApp) == Reason::kOpenToNode; }, minutes(5));
  node.RunFor(minutes(1));
  return std::string(base::EnumName(node.ReasonOf(kApp))) + ", " + std::to_string(pods()) + " pods left, " +
         std::to_string(node.LogLines("touch pod found")) + " found";
}
constexpr const char* kStory = "OpenToNode, 0 pods left, 1 found";

class TouchRights : public TouchScenario {
 protected:
  std::string Tell(const std::string& manifests) {
    NodeOptions options = WithTouch(VerificationPolicy::kAlwaysVerify);
    options.touch_manifests = manifests;
    Node& node = Make(std::move(options));
    node.Cluster().server.Put(
        "pods/prefetchd-touch/" + kube::TouchPodName("n1", "a", 0),
        R"({"metadata":{"uid":"old"},"spec":{"nodeName":"n1"},"status":{"phase":"Failed"}})");
    return Story(node, [this] { return PodsThere(); });
  }
};

TEST_F(TouchRights, ThatAreShippedAreEnoughAndNotTooMany) {
  EXPECT_EQ(Tell(ShippedTouchManifests()), kStory);
  Rbac rbac;
  ASSERT_TRUE(rbac.Load(ShippedTouchManifests()));
  EXPECT_EQ(rbac.ForbiddenGrants(), std::vector<std::string>{});
}

TEST_TABLE_F(MissingTouchRight, IsMissedAndNamed, TouchRights, std::pair<const char*, const char*>) {
  auto [verb, resource] = row;
  EXPECT_NE(Tell(WithoutRight(ShippedTouchManifests(), verb, resource)), kStory)
      << "nobody needs " << verb << " " << resource;
  const std::string words = std::string("cannot ") + verb + " resource";
  EXPECT_TRUE(std::any_of(node_->log.begin(), node_->log.end(), [&](const std::string& line) {
    return line.find(words) != std::string::npos;
  })) << "nothing names the right";
}
INSTANTIATE_TEST_SUITE_P(Rights, MissingTouchRight,
                         testing::Values(std::pair("create", "pods"), std::pair("get", "pods"),
                                         std::pair("delete", "pods"), std::pair("get", "nodes")),
                         [](const auto& row) { return std::string(row.param.first) + row.param.second; });

// Entries that are for pods which bring a credential of their own (readyAs): where one pull by kubelet closes
// an image to all others, these pods still start.

// SecretOf("ci") as a list names it.
const std::string kSecret = "{namespace: ci, name: pull}";

std::string ListFor(const std::string& secret) {
  return "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\ndefaults:\n  readyAs: {secrets: [" + secret +
         "]}\nimages:\n- image: " + kApp + "\n";
}

kubelet::HashedSecret Recreated() {
  return {{.uid = "u-ci-2", .namespace_name = "ci", .name = "pull"}, base::Secret("hash-ci-2")};
}

class ReadyAsScenario : public TouchScenario {
 protected:
  // The image is here, and a pod of namespace ci has made kubelet pull it.
  Node& Pulled(NodeOptions options, const std::vector<std::string>& sources) {
    Node& node = Make(std::move(options));
    node.Sources(sources);
    EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
    PodPulls(kApp, {.secret = SecretOf("ci")});
    node.RunFor(seconds(10));
    return node;
  }
};

TEST_F(ReadyAsScenario, ReadyThoughItIsClosedToAllOthers) {
  Node& node = Pulled(WithoutTouch(), {ListFor(kSecret)});
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kAssumedForPod);
  EXPECT_HAS(node.Image(kApp).message, "assumes");
  EXPECT_TRUE(node.Admits(kApp, {.secrets = {SecretOf("ci")}, .service_account = {}}));
  EXPECT_FALSE(node.Admits(kApp));
  EXPECT_EQ(node.LogLines("node not ready"), 0);

  node.Sources({ListFor("{namespace: ci, name: pull, uid: u-ci}")});
  EXPECT_TRUE(node.RunUntil([&] { return node.ReasonOf(kApp) == Reason::kRecordedForPod; }, seconds(10)));
  EXPECT_TRUE(node.Ready());

  node.Sources({kApp + "\n"});
  EXPECT_TRUE(node.RunUntil([&] { return node.ReasonOf(kApp) == Reason::kRecordedForOthers; }, seconds(10)));
  EXPECT_FALSE(node.Ready());
}

TEST_F(ReadyAsScenario, AnotherPodsSecretHelpsNobody) {
  Node& node = Pulled(WithoutTouch(), {ListFor("{namespace: shop, name: pull}")});
  EXPECT_FALSE(node.Ready());
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kRecordedForOthers);
  node.Sources({ListFor("{namespace: ci, name: pull, uid: u-other}")});
  node.RunFor(seconds(10));
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kRecordedForOthers);
}

// A secret that was deleted and made again under its name: which one pods bring today is not known.
TEST_F(ReadyAsScenario, SeveralSecretsOfTheNameAreUnknownWithoutAUid) {
  Node& node = Pulled(WithoutTouch(), {ListFor(kSecret)});
  ASSERT_TRUE(node.Ready());
  PodPulls(kApp, {.secret = Recreated()});
  EXPECT_TRUE(node.RunUntil([&] { return !node.Ready(); }, seconds(10)));
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kSecretAmbiguous);
  EXPECT_EQ(node.Image(kApp).verdicts->never.result, kubelet::VerdictResult::kUnknown);
  node.Sources({ListFor("{namespace: ci, name: pull, uid: u-ci-2}")});
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kRecordedForPod);
}

TEST_F(ReadyAsScenario, WhereSourcesDifferTheWorstCounts) {
  Node& node = Pulled(WithoutTouch(), {ListFor(kSecret), kApp + "\n"});
  EXPECT_FALSE(node.Ready());
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kRecordedForOthers);
  EXPECT_TRUE(node.Image(kApp).message.starts_with("Pods without pull secrets: "))
      << node.Image(kApp).message;
  EXPECT_EQ(node.Snapshot()->images.size(), 1U);
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
  // The source of the others goes. The agent knows the verdict for the remaining pod at once.
  node.Sources({ListFor(kSecret)});
  node.RunFor(seconds(1));
  EXPECT_TRUE(node.Ready());
}

TEST_F(ReadyAsScenario, WhatIsOpenToItsPodsIsNotTouched) {
  Node& node = Pulled(WithTouch(), {ListFor(kSecret)});
  node.RunFor(minutes(5));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(PodsCreated(), 0);
  EXPECT_EQ(TouchOf().state, plan::TouchState::kNone);

  node.Sources({ListFor(kSecret), kApp + "\n"});
  EXPECT_TRUE(Opens(minutes(1))) << "it is closed to the pods of the second source";
  EXPECT_EQ(PodsCreated(), 1);
  EXPECT_TRUE(node.Ready());
}

TEST_F(ReadyAsScenario, ATouchSettlesWhichSecretItIs) {
  Node& node = Pulled(WithTouch(), {ListFor(kSecret)});
  PodPulls(kApp, {.secret = Recreated()});
  EXPECT_TRUE(Opens(minutes(1)));
  EXPECT_EQ(PodsCreated(), 1);
  EXPECT_TRUE(node.Ready());
}

// kubelet compares service accounts from 1.34 on.
TEST_F(ReadyAsScenario, AServiceAccountCountsLikeASecret) {
  const std::string list = "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- image: " + kApp +
                           "\n  readyAs: {serviceAccount: {namespace: ci, name: runner}}\n";
  Node& node = Make(WithoutTouch());
  node.Sources({list});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  PodPulls(kApp, {.secret = {}, .service_account = kubelet::Coordinates{"u-1", "ci", "runner"}});
  node.RunFor(seconds(10));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kAssumedForPod);
}

}  // namespace
}  // namespace prefetch::tests::touch_scenario_test
