// The node gate of a whole agent, over HTTP, with exactly the rights that deploy/components/node-gate grants.
#include <gtest/gtest.h>

#include <algorithm>

#include "fakes/rbac.h"
#include "rows.h"
#include "scenario/gated_node.h"
#include "scenario/touch_scenario.h"

namespace prefetch::tests::node_gate_scenario_test {
namespace {

using Taints = std::vector<std::string>;

const Taints kBoth = {"dedicated", "prefetchd.dev/not-ready"};
const Taints kTheirs = {"dedicated"};

FakeImage Private(const std::string& name) {
  return Private(MakeImage(name, kMB), "ci", "password");
}

// A story that makes use of every right: an image is denied, an event counts it twice, then all is well.
std::string WholeStory(GatedNode& one) {
  one.node.runtime.SetBandwidth(kMB);
  one.node.runtime.Push(Private("r.io/a:v1"));
  one.node.runtime.Push(MakeImage("r.io/slow:v1", 800 * kMB));  // keeps the taint on for a while
  one.node.List({"r.io/a:v1", "r.io/slow:v1"});
  one.RunFor(minutes(1));
  std::string story =
      one.Label() + "; " + one.Condition() + "; taints " + std::to_string(one.Taints().size());
  one.RunFor(minutes(13));
  for (const std::string& event : one.Events()) story += "; " + event;
  one.node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  one.RunFor(minutes(20));
  return story + " | " + one.Label() + "; " + one.Condition() + "; taints " +
         std::to_string(one.Taints().size());
}

constexpr const char* kStory =
    "notready; False ImagesNotReady; taints 2; AccessDenied x2 | ready; True AllReady; taints 1";

TEST(NodeGateScenario, TheShippedRightsAreEnough) {
  GatedNode one;
  EXPECT_EQ(WholeStory(one), kStory);
  Rbac rbac;
  ASSERT_TRUE(rbac.Load(ShippedManifests()));
  EXPECT_EQ(rbac.ForbiddenGrants(), std::vector<std::string>{});
}

TEST_TABLE(MissingRight, IsMissed, std::pair<const char*, const char*>) {
  auto [verb, resource] = row;
  GatedNode one({.manifests = WithoutRight(ShippedManifests(), verb, resource)});
  EXPECT_NE(WholeStory(one), kStory) << "nobody needs " << verb << " " << resource;
  EXPECT_GE(one.node.LogLines("node object not reached"), 1);
  EXPECT_TRUE(one.node.Ready()) << "local readiness goes on";
}

INSTANTIATE_TEST_SUITE_P(Rights, MissingRight,
                         testing::Values(std::pair("get", "nodes"), std::pair("patch", "nodes"),
                                         std::pair("patch", "nodes/status"), std::pair("create", "events"),
                                         std::pair("patch", "events")),
                         [](const auto& row) {
                           std::string name = std::string(row.param.first) + row.param.second;
                           name.erase(std::remove(name.begin(), name.end(), '/'), name.end());
                           return name;
                         });

TEST(NodeGateScenario, AnApiServerThatIsAwayForAnHourHoldsUpNothing) {
  GatedNode one;
  one.node.runtime.SetBandwidth(kMB);
  one.node.runtime.Push(MakeImage("r.io/a:v1", 60 * kMB));
  one.node.List({"r.io/a:v1"});
  one.RunFor(seconds(20));
  EXPECT_EQ(one.Label(), "notready");
  one.server.GoAway();
  EXPECT_TRUE(one.RunUntil([&] { return one.node.Ready(); }, minutes(2))) << "local readiness goes on";
  one.RunFor(hours(1));
  EXPECT_EQ(one.node.LogLines("node object not reached"), 1) << "an outage is told once";
  EXPECT_EQ(one.Label(), "notready") << "nobody could write it";
  one.server.ComeBack();
  EXPECT_TRUE(one.RunUntil([&] { return one.Label() == "ready" && one.Taints() == kTheirs; }, seconds(75)));
  EXPECT_EQ(one.Condition(), "True AllReady");
  EXPECT_EQ(one.node.LogLines("node object reached again"), 1);
}

TEST(NodeGateScenario, AnApiServerThatIsAwayForAnHourIsNotFloodedWhenItAnswersWith503) {
  GatedNode one;
  one.node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  one.node.List({"r.io/a:v1"});
  one.server.Fail({.status = 503, .times = 1'000'000});
  one.RunFor(hours(1));
  // 1 s doubling to 60 s with full jitter: 30 s in the mean.
  EXPECT_LE(one.server.Requests().size(), 60 * 3U);
  EXPECT_TRUE(one.node.Ready());
}

TEST(NodeGateScenario, TwoInstancesOnOneNodeDoNotTakeFromEachOther) {
  GatedNode one({.gate = {.instance = "a", .label = true, .condition = true, .taint = true}});
  one.AddGate({.instance = "b", .label = true});
  one.node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  one.node.List({"r.io/a:v1", "r.io/b:v1"});
  one.RunFor(seconds(30));
  EXPECT_EQ(one.Label("prefetchd.dev/a"), "notready");
  EXPECT_EQ(one.Label("prefetchd.dev/b"), "notready");
  one.node.runtime.Push(MakeImage("r.io/b:v1", kMB));
  EXPECT_TRUE(one.RunUntil([&] { return one.Label("prefetchd.dev/b") == "ready"; }, minutes(10)));
  one.RunFor(seconds(15));
  EXPECT_EQ(one.Label("prefetchd.dev/a"), "ready");
  EXPECT_EQ(one.Condition(), "True AllReady");
  EXPECT_EQ(one.Taints(), kTheirs);
  std::size_t requests = one.server.Requests().size();
  one.RunFor(hours(1));
  // Each looks every five minutes, and has nothing to write.
  EXPECT_LE(one.server.Requests().size() - requests, 2 * 13U) << "they fight over something";
}

TEST(NodeGateScenario, AnotherOwnerWhoChangesTaintsAtTheSameMomentLosesNothing) {
  GatedNode one;
  one.node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  one.node.List({"r.io/a:v1"});
  one.Before("PATCH", "\"taints\"", [&] {
    one.server.Put("nodes/n1", R"({"metadata":{"labels":{"kubernetes.io/os":"linux"}},"spec":{"taints":[
        {"key":"dedicated","value":"ci","effect":"NoSchedule"},
        {"key":"prefetchd.dev/not-ready","effect":"NoSchedule"},
        {"key":"karpenter.sh/disrupted","effect":"NoSchedule"}]}})");
  });
  EXPECT_TRUE(one.RunUntil(
      [&] {
        return one.Taints() == Taints{"dedicated", "karpenter.sh/disrupted"};
      },
      minutes(1)));
}

TEST(NodeGateScenario, AnotherKeyOfTheStartupTaintIsRemovedAsTheUsualOneIs) {
  GatedNode one(
      {.gate = {.taint = true, .taint_key = "startup-taint.cluster-autoscaler.kubernetes.io/prefetchd"}});
  one.node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  one.node.List({"r.io/a:v1"});
  one.server.Put("nodes/n1", R"({"metadata":{"labels":{"kubernetes.io/os":"linux"}},"spec":{"taints":[
      {"key":"dedicated","value":"ci","effect":"NoSchedule"},
      {"key":"startup-taint.cluster-autoscaler.kubernetes.io/other","effect":"NoSchedule"},
      {"key":"startup-taint.cluster-autoscaler.kubernetes.io/prefetchd","effect":"NoSchedule"}]}})");
  EXPECT_TRUE(one.RunUntil(
      [&] {
        return one.Taints() == Taints{"dedicated", "startup-taint.cluster-autoscaler.kubernetes.io/other"};
      },
      minutes(1)));
}

TEST(NodeGateScenario, ATokenThatExpiresIsFollowedByTheNextOne) {
  GatedNode one({.token_life = minutes(10)});
  one.node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  one.node.List({"r.io/a:v1"});
  one.RunFor(minutes(8));
  EXPECT_EQ(one.Label(), "ready");
  one.WriteToken(
      one.server.AddServiceAccountToken("prefetchd", "prefetchd", minutes(10)));  // as kubelet does, in time
  one.RunFor(minutes(4));
  one.server.Put("nodes/n1", R"({"metadata":{"labels":{}}})");
  one.RunFor(minutes(5));
  EXPECT_EQ(one.Label(), "ready") << "with the second token";
  EXPECT_EQ(one.node.LogLines("node object not reached"), 0);
}

TEST(NodeGateScenario, ATokenThatNobodyReplacesIsSaidAndTheNodeGoesOn) {
  GatedNode one({.token_life = minutes(10)});
  one.node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  one.node.List({"r.io/a:v1"});
  one.RunFor(minutes(20));
  EXPECT_EQ(one.node.LogLines("node object not reached"), 1);
  EXPECT_TRUE(one.node.Ready());
  one.WriteToken(one.server.AddServiceAccountToken("prefetchd", "prefetchd"));
  EXPECT_TRUE(one.RunUntil([&] { return one.node.LogLines("node object reached again") == 1; }, minutes(7)));
}

TEST(NodeGateScenario, One404InTheListDoesNotKeepTheNodeFromItsPods) {
  GatedNode one;
  one.node.runtime.SetBandwidth(10 * kMB);
  one.node.runtime.Push(MakeImage("r.io/a:v1", 300 * kMB));
  one.node.List({"r.io/a:v1", "r.io/gone:v1"});
  one.RunFor(seconds(15));
  EXPECT_EQ(one.node.ReasonOf("r.io/gone:v1"), plan::Reason::kNotFound);
  EXPECT_EQ(one.Taints(), kBoth) << "another image is still on its way";
  EXPECT_TRUE(one.RunUntil([&] { return one.Taints() == kTheirs; }, minutes(1)));
  EXPECT_EQ(one.Label(), "notready") << "the truth is told all the same";
  EXPECT_EQ(one.Condition(), "False ImagesNotReady");
}

// kubelet's version comes from the Node object. Until it is known nothing may be published or taken off: what
// is closed then looks like a failure for good, and may be open a second later.
class LearntVersion : public testing::Test {
 protected:
  static GatedNodeOptions Options() {
    GatedNodeOptions options;
    options.node.kubelet =
        kubelet::KubeletDeclarations{.policy = kubelet::VerificationPolicy::kNeverVerifyPreloadedImages};
    options.node.learns_version = true;
    options.node.touch = true;
    return options;
  }
  // On the node, recorded for one pod's secret.
  static void Closed(GatedNode& one) {
    one.node.Kubelet([](FakeKubelet& kubelet) { kubelet.Start({.version = {1, 36}}); });
    one.node.runtime.Push(MakeImage("r.io/a:v1", kMB));
    one.node.runtime.Preload(MakeImage("r.io/a:v1", kMB));
    one.node.Kubelet([&](FakeKubelet& kubelet) {
      kubelet.BeginPull("r.io/a:v1");
      kubelet.EndPull("r.io/a:v1", one.node.IdOf("r.io/a:v1"), {.secret = SecretOf("team")});
    });
    one.node.List({"r.io/a:v1"});
  }
  // The taint stays until the node is ready.
  static void ExpectReady(GatedNode& one, base::Duration limit) {
    EXPECT_TRUE(one.RunUntil(
        [&] {
          EXPECT_TRUE(one.Taints() == kBoth || one.node.Ready()) << one.node.Snapshot()->readiness.message;
          EXPECT_NE(one.Condition(), "Unknown FactsUnknown");
          return one.node.Ready() && one.Taints() == kTheirs;
        },
        limit));
    EXPECT_EQ(one.Label(), "ready");
  }
};

TEST_F(LearntVersion, TheTaintStaysUntilAClosedImageIsOpen) {
  GatedNode one(Options());
  Closed(one);
  EXPECT_TRUE(one.RunUntil([&] { return one.node.Snapshot()->kubelet->version == "1.36.2"; }, seconds(4)));
  ExpectReady(one, minutes(2));
}

// The agent has given up learning when the API server comes back. Until then, it published states for an
// unknown kubelet.
TEST_F(LearntVersion, AnApiServerThatComesLateIsNotToldOfAKubeletThatNobodyKnew) {
  GatedNode one(Options());
  one.server.GoAway();
  Closed(one);
  one.RunFor(seconds(90));
  EXPECT_FALSE(one.node.Snapshot()->kubelet->learning);
  one.server.ComeBack();
  ExpectReady(one, minutes(7));
}

TEST_F(LearntVersion, AnApiServerThatRefusesOrIsAwayIsNotWaitedForForever) {
  for (bool away : {false, true}) {
    GatedNodeOptions options = Options();
    if (!away) options.manifests = WithoutRight(ShippedManifests(), "get", "nodes");
    GatedNode one(std::move(options));
    if (away) one.server.GoAway();
    Closed(one);
    one.RunFor(seconds(3));
    EXPECT_EQ(one.node.Snapshot()->kubelet->learning, away);
    EXPECT_TRUE(one.RunUntil([&] { return !one.node.Snapshot()->kubelet->learning; }, seconds(65)));
    EXPECT_EQ(one.node.ReasonOf("r.io/a:v1"), plan::Reason::kFactsUnknown);
    EXPECT_EQ(one.node.Image("r.io/a:v1").phase, plan::Phase::kFailing);
  }
}

TEST(NodeGateScenario, TheResultIsWrittenOnceItIsOneAndTakenAwayWhenItStopsBeingTrue) {
  constexpr const char* kKey = "image-prefetcher.stackrox.io/my-images";
  GatedNode one({.gate = {.result_label = kKey}});
  one.node.runtime.SetBandwidth(10 * kMB);
  one.node.runtime.Push(MakeImage("r.io/a:v1", 300 * kMB));
  one.node.List({"r.io/a:v1", "r.io/gone:v1"});
  one.RunFor(seconds(20));
  EXPECT_EQ(one.Label(kKey), "") << "slow is not failed";
  EXPECT_TRUE(one.RunUntil([&] { return one.Label(kKey) == "failed"; }, minutes(1)));
  one.node.runtime.Push(MakeImage("r.io/gone:v1", kMB));
  EXPECT_TRUE(one.RunUntil([&] { return one.Label(kKey) == "succeeded"; }, minutes(15)));
  one.node.runtime.SetBandwidth(kMB);
  one.node.runtime.Remove("r.io/a:v1");
  EXPECT_TRUE(one.RunUntil([&] { return one.Label(kKey).empty(); }, minutes(1)));
  EXPECT_EQ(one.Taints(), kBoth) << "nothing else was asked for";
}

}  // namespace
}  // namespace prefetch::tests::node_gate_scenario_test
