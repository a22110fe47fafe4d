// Entries that are for pods which bring a credential of their own (readyAs): where one pull by kubelet closes
// an image to all others, these pods still start.
#include <gtest/gtest.h>

#include "scenario/touch_scenario.h"

namespace prefetch::tests::ready_as_scenario_test {
namespace {

using plan::Reason;
using std::chrono::minutes;
using std::chrono::seconds;

// SecretOf("ci") as a list names it.
const std::string kSecret = "{namespace: ci, name: pull}";

std::string ListFor(const std::string& secret) {
  return "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\ndefaults:\n  readyAs: {secrets: [" + secret +
         "]}\nimages:\n- image: " + kApp + "\n";
}

kubelet::HashedSecret Recreated() {
  return {{.uid = "u-ci-2", .namespace_name = "ci", .name = "pull"}, base::Secret("hash-ci-2")};
}

NodeOptions WithoutTouch() {
  NodeOptions options = WithTouch();
  options.touch = false;
  return options;
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
  // What a pod meets that starts now with policy Never.
  bool Starts(const kubelet::PodIdentity& pod) {
    bool starts = false;
    node_->Kubelet([&](FakeKubelet& kubelet) { starts = kubelet.Admits(kApp, node_->IdOf(kApp), pod); });
    return starts;
  }
};

TEST_F(ReadyAsScenario, ReadyThoughItIsClosedToAllOthers) {
  Node& node = Pulled(WithoutTouch(), {ListFor(kSecret)});
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.ReasonOf(kApp), Reason::kAssumedForPod);
  EXPECT_NE(node.Image(kApp).message.find("assumes"), std::string::npos) << node.Image(kApp).message;
  EXPECT_TRUE(Starts({.secrets = {SecretOf("ci")}, .service_account = {}}));
  EXPECT_FALSE(Starts({}));
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
  // The source of the others goes. What is known of the pod that stays is known at once.
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
}  // namespace prefetch::tests::ready_as_scenario_test
