// What stands in the way of a touch: each obstacle by itself, what is said of it, and what comes after it.
#include "scenario/touch_scenario.h"

namespace prefetch::tests::touch_obstacle_scenario_test {
namespace {

using kubelet::VerificationPolicy;
using plan::Reason;
using plan::TouchObstacle;
using plan::TouchState;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

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

TEST_F(TouchScenario, WhatThisAgentPulledWithAPullSecretIsNotTouched) {
  NodeOptions options = WithTouch(VerificationPolicy::kAlwaysVerify);
  options.pull_secret = R"({"auths":{"reg.example.test":{"username":"ada","password":"pw-of-ada"}}})";
  Node& node = Make(std::move(options));
  FakeImage closed = MakeImage(kApp, 10'000'000);
  closed.username = "ada";
  closed.password = "pw-of-ada";
  node.runtime.Push(closed);
  ASSERT_TRUE(
      node.RunUntil([&] { return node.Image(kApp).present && node.Image(kApp).verdicts; }, minutes(1)));
  node.RunFor(minutes(10));
  EXPECT_TRUE(node.Image(kApp).exposed);
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kTouchIneffective);
  EXPECT_EQ(TouchOf().obstacle, TouchObstacle::kPullSecret);
  EXPECT_NE(TouchOf().why.find("team-pull"), std::string::npos) << TouchOf().why;
  EXPECT_EQ(PodsCreated(), 0);
}

TEST_F(TouchScenario, ATagThatIsGoneCannotBeTouched) {
  Node& node = Make(WithTouch());
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  PodPulls(kApp, {.secret = SecretOf("team")});
  node.runtime.DeleteTag(kApp);
  ASSERT_TRUE(node.RunUntil([&] { return node.ReasonOf(kApp) == Reason::kTouchIneffective; }, minutes(10)));
  EXPECT_EQ(PodsCreated(), 3);
  EXPECT_EQ(TouchOf().obstacle, TouchObstacle::kPullFailed) << TouchOf().why;
  EXPECT_NE(TouchOf().why.find("not found"), std::string::npos) << TouchOf().why;
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
  EXPECT_NE(TouchOf().why.find("CRI-O 1.35.2 mends it"), std::string::npos) << TouchOf().why;
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
  EXPECT_NE(TouchOf().why.find("corp-pull"), std::string::npos) << TouchOf().why;
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
  FakeImage hidden = MakeImage(kApp, 10'000'000);
  hidden.username = "ci";
  hidden.password = "password";
  node.runtime.Push(hidden);
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

}  // namespace
}  // namespace prefetch::tests::touch_obstacle_scenario_test
