// Touching, from what closes an image to what opens it, and keeps it open.
#include <random>

#include "scenario/touch_scenario.h"

namespace prefetch::tests::touch_scenario_test {
namespace {

using kubelet::VerdictResult;
using kubelet::VerificationPolicy;
using plan::Reason;
using plan::TouchState;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TEST_F(TouchScenario, ClosedByAPodsSecretItIsOpenAgainWithinFiveSeconds) {
  Node& node = Make(WithTouch());
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
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
  Node& node = Make(WithTouch());
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  PodPulls(kApp, {.secret = SecretOf("team")});
  ASSERT_TRUE(node.RunUntil([&] { return !node.Ready(); }, seconds(10)));
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kTouching);
  EXPECT_EQ(node.Image(kApp).phase, plan::Phase::kProgressing);
  EXPECT_FALSE(node.Image(kApp).settled);
  EXPECT_NE(node.Image(kApp).message.find("1 secret"), std::string::npos) << node.Image(kApp).message;
}

TEST_F(TouchScenario, AlwaysVerifyWithTwoHundredEntries) {
  std::vector<std::string> images;
  for (int i = 0; i < 200; i++) images.push_back("reg.example.test/a" + std::to_string(i) + ":v1");
  Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify), images);
  for (const std::string& image : images) node.runtime.Preload(MakeImage(image, 10'000'000));
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(30))) << node.Snapshot()->readiness.message;
  EXPECT_LE(PodsCreated(), 10);
  for (const plan::ImageState& image : node.Snapshot()->images) EXPECT_EQ(image.reason, Reason::kOpenToNode);
}

TEST_F(TouchScenario, WhatIsPulledOneAfterTheOtherIsTouchedTogether) {
  std::vector<std::string> images;
  for (int i = 0; i < 30; i++) images.push_back("reg.example.test/a" + std::to_string(i) + ":v1");
  NodeOptions options = WithTouch(VerificationPolicy::kAlwaysVerify);
  Node& node = Make(std::move(options), images);
  node.runtime.SetBandwidth(30'000'000);  // 10 s in all
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  EXPECT_LE(PodsCreated(), 4);
}

TEST_F(TouchScenario, NodeCredentialsOpenWhatIsPrivate) {
  Node& node = Make(WithTouch());
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  FakeImage closed = MakeImage(kApp, 10'000'000);
  closed.username = "node";
  closed.password = "pw-of-node";
  node.runtime.Push(closed);
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
  FakeImage secret = MakeImage(kApp, 10'000'000);
  secret.username = "ada";
  node.runtime.Push(secret);
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
  FakeImage secret = MakeImage(kApp, 10'000'000);
  secret.username = "ada";
  node.runtime.Push(secret);
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
  std::vector<std::string> images;
  for (int i = 0; i < 5; i++) images.push_back("reg.example.test/a" + std::to_string(i) + ":v1");
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

TEST_F(TouchScenario, OnceWaitsForTheTouch) {
  Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify));
  ASSERT_TRUE(node.RunUntil([&] { return node.Image(kApp).present; }, minutes(1)));
  EXPECT_FALSE(node.Image(kApp).settled);
  ASSERT_TRUE(node.RunUntil([&] { return node.Image(kApp).settled; }, minutes(1)));
  EXPECT_TRUE(node.Ready());
}

// After any history of pods with secrets an entry with open: Always stays open, from its first touch on.
TEST_F(TouchScenario, WhateverPodsDoAnEntryThatIsAlwaysOpenStaysOpen) {
  for (unsigned seed = 1; seed <= 8; seed++) {
    std::mt19937 random(seed);
    auto pick = [&](int most) { return std::uniform_int_distribution<int>(0, most - 1)(random); };
    std::vector<std::string> images;
    for (int i = 0; i < 4; i++) images.push_back("reg.example.test/team/p" + std::to_string(i) + ":v1");
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

}  // namespace
}  // namespace prefetch::tests::touch_scenario_test
