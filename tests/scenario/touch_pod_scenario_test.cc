// The life of a touch pod: an agent that goes meanwhile, an API server in trouble, rights that are missing.
#include <algorithm>
#include <atomic>

#include "fakes/rbac.h"
#include "kube/touch_pod.h"
#include "scenario/touch_scenario.h"

namespace prefetch::tests::touch_pod_scenario_test {
namespace {

using kubelet::VerificationPolicy;
using plan::Reason;
using plan::TouchObstacle;
using plan::TouchState;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

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
  Node& node = Make(WithTouch());
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
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

// What goes wrong for a while costs that while, and nothing else.
class TouchFault : public TouchScenario, public testing::WithParamInterface<std::pair<const char*, Fault>> {};
TEST_P(TouchFault, IsWaitedFor) {
  Node& node = Make(WithTouch());
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  Fault fault = GetParam().second;
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
  Node& node = Make(WithTouch());
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
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
  return std::string(plan::ReasonName(node.ReasonOf(kApp))) + ", " + std::to_string(pods()) + " pods left, " +
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

class MissingTouchRight : public TouchRights,
                          public testing::WithParamInterface<std::pair<const char*, const char*>> {};
TEST_P(MissingTouchRight, IsMissedAndNamed) {
  auto [verb, resource] = GetParam();
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

}  // namespace
}  // namespace prefetch::tests::touch_pod_scenario_test
