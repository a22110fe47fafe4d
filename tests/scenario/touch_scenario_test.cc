// Touching, from what closes an image to what opens it: the agent with a kubelet that runs its pods, an API
// server that knows its rights, and time that jumps.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "scenario/node.h"

namespace prefetch::tests {
namespace {

using kubelet::VerdictResult;
using kubelet::VerificationPolicy;
using plan::Reason;
using plan::TouchObstacle;
using plan::TouchState;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

const std::string kApp = "reg.example.test/team/app:v1";

image::AuthConfig Auth(const std::string& user) {
  return {.username = user, .password = base::Secret("pw-of-" + user)};
}

kubelet::HashedSecret SecretOf(const std::string& team) {
  return {{.uid = "u-" + team, .namespace_name = team, .name = "pull"}, base::Secret("hash-" + team)};
}

NodeOptions WithTouch(VerificationPolicy policy = VerificationPolicy::kNeverVerifyPreloadedImages) {
  NodeOptions options;
  options.kubelet = kubelet::Declared{.version = image::KubeletVersion{1, 36}, .policy = policy};
  options.touch = true;
  return options;
}

void OpenAlways(plan::DesiredImage& want) {
  want.open = plan::Open::kAlways;
}

class TouchScenario : public testing::Test {
 protected:
  // A node whose kubelet runs, with these images in its registry, which is public.
  Node& Make(NodeOptions options, const std::vector<std::string>& images = {kApp},
             const std::function<void(plan::DesiredImage&)>& change = nullptr) {
    kubelet::KubeletSettings settings{.version = *options.kubelet->version};
    if (options.kubelet->policy) settings.policy = *options.kubelet->policy;
    node_.emplace(std::move(options));
    node_->Kubelet([&](FakeKubelet& kubelet) { kubelet.Start(settings); });
    for (const std::string& image : images) node_->runtime.Push(MakeImage(image, 10'000'000));
    node_->List(images, change);
    return *node_;
  }
  // A pod with a secret of its own makes kubelet pull: the image is closed to everybody else.
  void PodPulls(const std::string& image, const PullCredential& credential) {
    node_->Kubelet([&](FakeKubelet& kubelet) {
      kubelet.BeginPull(image);
      kubelet.EndPull(image, node_->IdOf(image), credential);
    });
  }
  bool Opens(base::Duration limit, const std::string& image = kApp) {
    return node_->RunUntil([&] { return node_->ReasonOf(image) == Reason::kOpenToNode; }, limit);
  }
  plan::TouchStatus TouchOf(const std::string& image = kApp) { return node_->Image(image).touch; }
  // Requests that made pods, dry runs apart.
  int PodsCreated() {
    int count = 0;
    for (const std::string& line : node_->Cluster().server.Requests()) {
      count += line == "POST /api/v1/namespaces/prefetchd-touch/pods" ? 1 : 0;
    }
    return count;
  }
  int PodsThere() {
    int count = 0;
    for (const std::string& path : node_->Cluster().server.Paths())
      count += path.starts_with("pods/") ? 1 : 0;
    return count;
  }

  std::optional<Node> node_;
};

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

TEST_F(TouchScenario, AKubeletWithoutCredentialsIsTouchedThreeTimesAndNoMore) {
  Node& node = Make(WithTouch());
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  FakeImage closed = MakeImage(kApp, 10'000'000);
  closed.username = "ada";
  closed.password = "pw-of-ada";
  node.runtime.Push(closed);
  PodPulls(kApp, {.secret = SecretOf("team")});
  ASSERT_TRUE(node.RunUntil([&] { return node.ReasonOf(kApp) == Reason::kTouchIneffective; }, minutes(10)));
  EXPECT_EQ(PodsCreated(), 3);
  plan::TouchStatus touch = TouchOf();
  EXPECT_EQ(touch.obstacle, TouchObstacle::kNoNodeCredentials);
  EXPECT_NE(touch.why.find("ErrImagePull: unexpected status from HEAD request: 401"), std::string::npos)
      << touch.why;
  EXPECT_NE(node.Image(kApp).message.find("401 Unauthorized"), std::string::npos);
  EXPECT_EQ(node.Image(kApp).phase, plan::Phase::kFailing);
  node.RunFor(hours(24));
  EXPECT_EQ(PodsCreated(), 3);
  EXPECT_EQ(PodsThere(), 0);
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
  EXPECT_NE(TouchOf().why.find("corp-pull"), std::string::npos) << TouchOf().why;
  EXPECT_LE(node.LogLines("touch failed"), 1);
  EXPECT_EQ(node.LogLines("touching is given up for now"), 1);
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

TEST_F(TouchScenario, SigtermTakesThePodAway) {
  Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify));
  node.Cluster().pods.SetSpeed(hours(1), seconds(1));
  ASSERT_TRUE(node.RunUntil([&] { return PodsThere() == 1; }, minutes(1)));
  auto started = std::chrono::steady_clock::now();
  node.StopAgent();
  EXPECT_LE(std::chrono::steady_clock::now() - started, seconds(1));
  EXPECT_EQ(PodsThere(), 0);
}

TEST_F(TouchScenario, SigtermDoesNotWaitForAnApiServerThatHangs) {
  Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify));
  node.Cluster().pods.SetSpeed(hours(1), seconds(1));
  ASSERT_TRUE(node.RunUntil([&] { return PodsThere() == 1; }, minutes(1)));
  node.Cluster().server.Fail({.hang = true, .times = 100});
  auto started = std::chrono::steady_clock::now();
  node.StopAgent();
  EXPECT_LE(std::chrono::steady_clock::now() - started, seconds(1));
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
  EXPECT_NE(TouchOf().why.find("OutOfpods"), std::string::npos) << TouchOf().why;
}

struct RefusalCase {
  std::string name;
  FakeApiServer::Refusal refusal;
  TouchObstacle expect;
};
class TouchRefused : public TouchScenario, public testing::WithParamInterface<RefusalCase> {};
TEST_P(TouchRefused, IsIneffectiveAfterThreeAndGoesOnWhenItIsMended) {
  Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify));
  node.Cluster().server.SetRefusal([](const doc::Node&) { return GetParam().refusal; });
  ASSERT_TRUE(node.RunUntil([&] { return node.ReasonOf(kApp) == Reason::kTouchIneffective; }, minutes(10)));
  EXPECT_EQ(TouchOf().obstacle, GetParam().expect) << TouchOf().why;
  EXPECT_NE(TouchOf().why.find(GetParam().refusal.message), std::string::npos) << TouchOf().why;
  EXPECT_EQ(PodsCreated(), 0) << "the dry run was refused already";
  std::size_t before = node.Cluster().server.Requests().size();
  node.RunFor(hours(1));
  EXPECT_LE(node.Cluster().server.Requests().size() - before, 14U);
  node.Cluster().server.SetRefusal(nullptr);
  EXPECT_TRUE(Opens(minutes(15)));
}
INSTANTIATE_TEST_SUITE_P(
    Touch, TouchRefused,
    testing::Values(
        RefusalCase{"Quota",
                    {403, "Forbidden",
                     "pods \"x\" is forbidden: exceeded quota: prefetchd-touch, requested: pods=1, used: "
                     "pods=1000, limited: pods=1000"},
                    TouchObstacle::kQuota},
        RefusalCase{"NamespaceMissing",
                    {404, "NotFound", "namespaces \"prefetchd-touch\" not found"},
                    TouchObstacle::kNamespaceMissing},
        RefusalCase{"PodSecurity",
                    {403, "Forbidden", "pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\""},
                    TouchObstacle::kAdmission},
        RefusalCase{"Policy",
                    {403, "Forbidden",
                     "pods \"x\" is forbidden: ValidatingAdmissionPolicy 'prefetchd-touch' denied request"},
                    TouchObstacle::kAdmission},
        RefusalCase{"WebhookThatKnowsNoDryRun",
                    {400, "BadRequest", "admission webhook \"w\" does not support dry run"},
                    TouchObstacle::kAdmission}),
    [](const auto& row) { return row.param.name; });

// The same two, by what is shipped and not by what a server would say.
TEST_F(TouchScenario, WithoutItsNamespaceItSaysSoAndGoesOnWhenDeployTouchIsApplied) {
  Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify));
  node.Cluster().server.RemoveNamespace("prefetchd-touch");
  ASSERT_TRUE(node.RunUntil([&] { return node.ReasonOf(kApp) == Reason::kTouchIneffective; }, minutes(10)));
  EXPECT_EQ(TouchOf().obstacle, TouchObstacle::kNamespaceMissing) << TouchOf().why;
  node.Cluster().ApplyShipped();
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

TEST_F(TouchScenario, WithoutTheRightItSaysSo) {
  NodeOptions options = WithTouch(VerificationPolicy::kAlwaysVerify);
  Node& node = Make(std::move(options));
  // Another account than the one that the component binds.
  node.Cluster().server.SetRefusal([](const doc::Node&) {
    return FakeApiServer::Refusal{403, "Forbidden", "User \"x\" cannot create resource \"pods\""};
  });
  ASSERT_TRUE(node.RunUntil([&] { return node.ReasonOf(kApp) == Reason::kTouchIneffective; }, minutes(10)));
  EXPECT_EQ(TouchOf().obstacle, TouchObstacle::kForbidden);
}

TEST_F(TouchScenario, AnApiServerThatIsAwayIsWaitedFor) {
  Node& node = Make(WithTouch());
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  node.Cluster().server.GoAway();
  PodPulls(kApp, {.secret = SecretOf("team")});
  node.RunFor(hours(2));
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kTouching);
  EXPECT_EQ(TouchOf().obstacle, TouchObstacle::kApiServer);
  EXPECT_TRUE(node.Image(kApp).settled) << "nobody has to wait for it";
  node.Cluster().server.ComeBack();
  EXPECT_TRUE(Opens(minutes(7)));
}

TEST_F(TouchScenario, ARegistryThatIsAwayIsWaitedFor) {
  Node& node = Make(WithTouch());
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
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

TEST_F(TouchScenario, ARecordThatAGarbageCollectionTookAwayIsMadeAgain) {
  Node& node = Make(WithTouch(VerificationPolicy::kAlwaysVerify));
  ASSERT_TRUE(Opens(minutes(1)));
  node.RunFor(minutes(1));
  node.Kubelet([](FakeKubelet& kubelet) { kubelet.GarbageCollect({}); });
  ASSERT_TRUE(node.RunUntil([&] { return !node.Ready(); }, seconds(10)));
  EXPECT_TRUE(Opens(seconds(5)));
  EXPECT_EQ(PodsCreated(), 2);
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
                    [](plan::DesiredImage& want) { want.open = plan::Open::kNever; });
  node.RunFor(minutes(10));
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kVerificationAlways);
  EXPECT_EQ(PodsCreated(), 0);
}

TEST_F(TouchScenario, WithoutAnApiServerItSaysSoAndGoesOn) {
  NodeOptions options = WithTouch(VerificationPolicy::kAlwaysVerify);
  options.touch = false;
  options.touch_nowhere = true;
  Node& node = Make(std::move(options));
  node.RunFor(minutes(1));
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kVerificationAlways);
  ASSERT_EQ(node.Snapshot()->problems.size(), 1U);
  EXPECT_NE(node.Snapshot()->problems[0].find("--touch"), std::string::npos);
}

TEST_F(TouchScenario, AKubeletThatIsTooOldToCareIsNotTouched) {
  NodeOptions options = WithTouch();
  options.kubelet = kubelet::Declared{.version = image::KubeletVersion{1, 32}};
  Node& node = Make(std::move(options), {kApp}, OpenAlways);
  node.RunFor(minutes(10));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(PodsCreated(), 0);
}

TEST_F(TouchScenario, AProviderWithTokenAttributesForbidsTheTouch) {
  NodeOptions options = WithTouch(VerificationPolicy::kAlwaysVerify);
  options.provider_config = R"(apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: "true"
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  matchImages: ["reg.example.test/team"]
  defaultCacheDuration: 1h
  tokenAttributes:
    serviceAccountTokenAudience: reg
    requireServiceAccount: true
    cacheType: ServiceAccount
)";
  const std::string other = "reg.example.test/free/app:v1";
  Node& node = Make(std::move(options), {kApp, other});
  ASSERT_TRUE(Opens(minutes(1), other)) << "the rest of its pod goes on";
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kTouchIneffective);
  EXPECT_EQ(TouchOf().obstacle, TouchObstacle::kTokenProvider);
  EXPECT_EQ(TouchOf().attempts, 0);
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
}  // namespace prefetch::tests
