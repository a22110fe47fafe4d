// Images that kubelet's garbage collection must spare.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "agent/pinning.h"
#include "scenario/node.h"

namespace prefetch::tests::pin_scenario_test {
namespace {

NodeOptions NewContainerd() {
  NodeOptions options;
  options.persona = Persona::kContainerd23;
  return options;
}

void Pinned(plan::DesiredImage& desired) {
  desired.pin = true;
}

std::set<std::string> PinsOf(Node& node, const std::string& instance = "a") {
  auto names = node.runtime.ListPins({}, cri::PinOwner(instance));
  return names ? *names : std::set<std::string>{"no answer"};
}

TEST(PinScenario, PinnedWhileTheListAsksForIt) {
  Node node(NewContainerd());
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.runtime.Push(MakeImage("r.io/b:v1", kMB));
  node.List({"r.io/a:v1", "r.io/b:v1"},
            [](plan::DesiredImage& desired) { desired.pin = desired.reference.written() == "r.io/a:v1"; });
  node.RunFor(minutes(1));
  EXPECT_TRUE(node.Image("r.io/a:v1").pinned);
  EXPECT_EQ(node.Image("r.io/a:v1").pin_problem, "");
  EXPECT_FALSE(node.Image("r.io/b:v1").pinned) << "off by default";
  EXPECT_EQ(node.LogLines("image pinned"), 1);
  const int calls = node.runtime.counters().pin_calls;
  node.RunFor(minutes(10));
  EXPECT_EQ(node.runtime.counters().pin_calls, calls) << "nothing is repeated";
  node.List({"r.io/b:v1"}, Pinned);
  node.RunFor(minutes(1));
  EXPECT_EQ(PinsOf(node), std::set<std::string>{"r.io/b:v1"}) << "a has left the list";
  node.List({"r.io/b:v1"});
  node.RunFor(minutes(1));
  EXPECT_EQ(PinsOf(node), std::set<std::string>{});
  EXPECT_FALSE(node.Image("r.io/b:v1").pinned);
  EXPECT_EQ(node.LogLines("image unpinned"), 2);
}

// containerd has the only memory of pins.
TEST(PinScenario, ARestartedAgentKnowsItsPins) {
  Node node(NewContainerd());
  node.PushAndList("r.io/a:v1", kMB, Pinned);
  node.RunFor(minutes(1));
  ASSERT_EQ(PinsOf(node), std::set<std::string>{"r.io/a:v1"});
  node.List({"r.io/a:v1"});
  node.RestartAgent();
  node.RunFor(minutes(1));
  EXPECT_EQ(PinsOf(node), std::set<std::string>{});
}

TEST(PinScenario, AnotherClientsPinStays) {
  Node node(NewContainerd());
  node.PushAndList("r.io/pause:v1", kMB);
  node.RunFor(minutes(1));
  node.runtime.LabelPin("r.io/pause:v1", "pinned");
  node.RunFor(minutes(1));
  node.List({"r.io/pause:v1"}, Pinned);
  node.RunFor(minutes(1));
  EXPECT_TRUE(node.Image("r.io/pause:v1").pinned);
  EXPECT_EQ(PinsOf(node), std::set<std::string>{});
  node.List({"r.io/pause:v1"});
  node.RunFor(minutes(1));
  EXPECT_TRUE(node.Image("r.io/pause:v1").pinned);
  EXPECT_EQ(node.runtime.counters().pin_calls, 0);
  // Its label goes, and the list asks for a pin again.
  node.List({"r.io/pause:v1"}, Pinned);
  node.runtime.LabelPin("r.io/pause:v1", "");
  node.RunFor(minutes(2));
  EXPECT_EQ(PinsOf(node), std::set<std::string>{"r.io/pause:v1"});
}

TEST(PinScenario, AnImageThatComesBackAndALabelThatIsRemoved) {
  Node node(NewContainerd());
  node.PushAndList("r.io/a:v1", kMB, Pinned);
  node.RunFor(minutes(1));
  node.runtime.Remove("r.io/a:v1");
  node.RunFor(minutes(3));
  EXPECT_TRUE(node.Image("r.io/a:v1").pinned);
  node.runtime.LabelPin("r.io/a:v1", "");
  node.RunFor(minutes(3));
  EXPECT_TRUE(node.Image("r.io/a:v1").pinned);
  // Another agent, or an operator, takes all pins off.
  ASSERT_EQ(agent::UnpinAll({}, node.runtime).unpinned.size(), 1U);
  node.RunFor(minutes(3));
  EXPECT_TRUE(node.Image("r.io/a:v1").pinned);
}

// CRI pins by one value of the label, and ignores others.
TEST(PinScenario, AValueThatPinsNothingIsOverwritten) {
  Node node(NewContainerd());
  node.PushAndList("r.io/a:v1", kMB);
  node.RunFor(minutes(1));
  node.runtime.LabelPin("r.io/a:v1", "yes");
  node.List({"r.io/a:v1"}, Pinned);
  node.RunFor(minutes(1));
  EXPECT_TRUE(node.Image("r.io/a:v1").pinned);
  EXPECT_EQ(node.runtime.counters().pin_calls, 1);
}

// The runtime does not report whose pin it is, nor that there is one.
TEST(PinScenario, AnotherClientsPinThatAnOldContainerdDoesNotReport) {
  Node node;  // 1.6.20
  node.PushAndList("r.io/a:v1", kMB);
  node.RunFor(minutes(1));
  node.runtime.LabelPin("r.io/a:v1", "pinned");
  node.List({"r.io/a:v1"}, Pinned);
  node.RunFor(minutes(10));
  EXPECT_EQ(node.Image("r.io/a:v1").pin_problem, "another client of containerd has pinned this name");
  EXPECT_LE(node.runtime.counters().pin_calls, 12);
  EXPECT_EQ(node.LogLines("image pinned"), 0);
  EXPECT_EQ(node.LogLines("image not pinned"), 1);
  node.runtime.LabelPin("r.io/a:v1", "");
  node.RunFor(minutes(2));
  EXPECT_EQ(PinsOf(node), std::set<std::string>{"r.io/a:v1"});
}

TEST(PinScenario, TwoAgentsWithTheSamePin) {
  NodeOptions options;  // 1.6.20
  options.second_instance = "b";
  Node node(std::move(options));
  node.PushAndList("r.io/a:v1", kMB, Pinned);
  node.RunFor(minutes(10));
  EXPECT_EQ(PinsOf(node, "a").size() + PinsOf(node, "b").size(), 1U);
  EXPECT_LE(node.runtime.counters().pin_calls, 12);
  EXPECT_LE(node.LogLines("image pinned"), 2) << "both pull, and a pull removes the label";
  EXPECT_LE(node.LogLines("image not pinned"), 2);
}

// A call that has timed out may have had its effect.
TEST(PinScenario, APinIsKnownWhoseAnswerWasLost) {
  Node node(NewContainerd());
  node.PushAndList("r.io/a:v1", kMB);
  node.RunFor(minutes(1));
  node.runtime.FailNext(LeaseCall::kPin, 1);
  node.List({"r.io/a:v1"}, Pinned);
  node.RunFor(seconds(20));
  ASSERT_EQ(node.LogLines("pins not changed"), 1);
  ASSERT_TRUE(node.runtime.Pin({}, "r.io/a:v1", cri::PinOwner("a")));
  node.List({"r.io/a:v1"});
  node.RunFor(minutes(3));
  EXPECT_EQ(PinsOf(node), std::set<std::string>{});
}

TEST(PinScenario, APinThatHasGoneWithItsImageIsNotTakenOff) {
  Node node(NewContainerd());
  node.PushAndList("r.io/a:v1", kMB, Pinned);
  node.RunFor(minutes(1));
  ASSERT_EQ(node.LogLines("image pinned"), 1);
  node.runtime.Remove("r.io/a:v1");
  node.List({});
  node.RunFor(minutes(3));
  EXPECT_EQ(node.LogLines("image unpinned"), 0);
  EXPECT_EQ(node.runtime.counters().pin_calls, 2) << "asked once";
}

// A runtime that hangs gets one call of a job's time, and not one for each name.
TEST(PinScenario, AJobEndsWithItsTime) {
  FakeClock clock;
  FakeImageService runtime(clock, Persona::kContainerd23);
  const agent::PinsChanged done =
      agent::ChangePins(base::Call().Within(seconds(0)), runtime, "a", {.list = false, .pin = {"x", "y"}});
  EXPECT_EQ(runtime.counters().pin_calls, 1);
  EXPECT_NE(done.runtime_error, "");
}

TEST(PinScenario, ANameThatFailsDelaysNoOther) {
  Node node(NewContainerd());
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.runtime.RefusePin("r.io/a:v1");
  node.List({"r.io/a:v1"}, Pinned);
  node.RunFor(seconds(20));
  ASSERT_EQ(node.Image("r.io/a:v1").pin_problem, "labels too long");
  node.runtime.Push(MakeImage("r.io/b:v1", kMB));
  node.List({"r.io/a:v1", "r.io/b:v1"}, Pinned);
  node.RunFor(seconds(20));
  EXPECT_EQ(PinsOf(node), std::set<std::string>{"r.io/b:v1"});
  EXPECT_EQ(node.Image("r.io/b:v1").pin_problem, "");
  node.RunFor(minutes(5));
  EXPECT_LE(node.runtime.counters().pin_calls, 8) << "a try each minute";
  EXPECT_GE(node.runtime.counters().pin_calls, 6);
  EXPECT_EQ(node.Image("r.io/a:v1").pin_problem, "labels too long");
  EXPECT_EQ(node.LogLines("image not pinned"), 1);
}

TEST(PinScenario, AllPinsComeOffWhoseverTheyAre) {
  FakeClock clock;
  FakeImageService runtime(clock, Persona::kContainerd23);
  for (const char* name : {"r.io/a:v1", "r.io/b:v1", "r.io/pause:v1"}) runtime.Preload(MakeImage(name, kMB));
  ASSERT_TRUE(runtime.Pin({}, "r.io/a:v1", "one"));
  ASSERT_TRUE(runtime.Pin({}, "r.io/b:v1", "two"));
  runtime.LabelPin("r.io/pause:v1", "pinned");
  const agent::PinsChanged done = agent::UnpinAll({}, runtime);
  EXPECT_EQ(done.unpinned, (std::vector<std::string>{"r.io/a:v1", "r.io/b:v1"}));
  EXPECT_EQ(done.runtime_error, "");
  const auto images = runtime.ListImages({});
  ASSERT_TRUE(images);
  EXPECT_EQ(std::count_if(images->begin(), images->end(), [](const auto& image) { return image.pinned; }), 1);
}

TEST(PinScenario, UnpinSetsNone) {
  Node node({.persona = Persona::kContainerd23, .unpin = true});
  node.PushAndList("r.io/a:v1", kMB, Pinned);
  node.RunFor(minutes(2));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.runtime.counters().pin_calls, 0);
  EXPECT_EQ(node.Image("r.io/a:v1").pin_problem, "the agent runs with --unpin");
}

TEST(PinScenario, KubeletsThresholdHoldsForPins) {
  NodeOptions options = NewContainerd();
  options.limits.disk_min_free_bytes = 0;
  options.kubelet =
      kubelet::KubeletDeclarations{.version = image::KubeletVersion{1, 36},
                                   .policy = kubelet::VerificationPolicy::kNeverVerifyPreloadedImages};
  Node node(std::move(options));
  node.Kubelet([](FakeKubelet& kubelet) { kubelet.Start({.version = {1, 36}}); });
  node.WriteKubeletConfig(
      "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n"
      "imageGCHighThresholdPercent: 60\nimageGCLowThresholdPercent: 50\n");
  node.RestartAgent();
  node.disk = {.known = true, .capacity_bytes = 1000 * kMB, .available_bytes = 900 * kMB};
  node.runtime.Preload(MakeImage("r.io/a:v1", 300 * kMB));
  node.List({"r.io/a:v1"}, Pinned);
  node.RunFor(minutes(2));
  EXPECT_EQ(node.LogLines("image pinned"), 0) << "kubelet's rule leaves 500 MB, and it takes 600 MB";
  EXPECT_HAS(node.Image("r.io/a:v1").pin_problem, "leaves 500 MB to images");
}

TEST(PinScenario, AContainerdWithoutItsApiForImages) {
  Node node(NewContainerd());
  node.runtime.HideImagesApi();
  node.PushAndList("r.io/a:v1", kMB, Pinned);
  node.RunFor(minutes(2));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.Image("r.io/a:v1").pin_problem,
            "containerd does not offer its own API for images here: the agent cannot pin it");
  EXPECT_EQ(node.LogLines("pins not changed"), 0) << "the node is as it is";
}

TEST(PinScenario, NotMoreThanTheDiskRuleAllows) {
  NodeOptions options = NewContainerd();
  options.limits.disk_min_free_bytes = 0;
  Node node(std::move(options));
  node.disk = {.known = true, .capacity_bytes = 1000 * kMB, .available_bytes = 900 * kMB};
  node.runtime.Push(MakeImage("r.io/a:v1", 300 * kMB));
  node.runtime.Push(MakeImage("r.io/b:v1", 110 * kMB));
  node.List({"r.io/a:v1", "r.io/b:v1"}, Pinned);
  node.RunFor(minutes(5));
  ASSERT_TRUE(node.Ready()) << "a pin is no condition of readiness";
  EXPECT_EQ(PinsOf(node), std::set<std::string>{"r.io/a:v1"});
  EXPECT_HAS(node.Image("r.io/b:v1").pin_problem, "the disk rule leaves 800 MB to images");
  EXPECT_EQ(node.LogLines("image not pinned"), 1);
}

TEST(PinScenario, AnOldContainerdDoesNotReportIt) {
  Node node;  // 1.6.20
  node.PushAndList("r.io/a:v1", kMB, Pinned);
  node.RunFor(minutes(10));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(PinsOf(node), std::set<std::string>{"r.io/a:v1"}) << "it will count after an upgrade";
  EXPECT_EQ(node.Image("r.io/a:v1").pin_problem,
            "containerd 1.6.20~ds1 does not report its label: it needs 1.6.25, 1.7.10 or later");
  EXPECT_EQ(node.runtime.counters().pin_calls, 1);
}

TEST(PinScenario, CrioPinsByItsConfiguration) {
  Node node({.persona = Persona::kCrio});
  node.PushAndList("r.io/a:v1", kMB, Pinned);
  node.RunFor(minutes(2));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.Image("r.io/a:v1").pin_problem,
            "this runtime pins images by its configuration: name it in pinned_images of crio.conf");
}

TEST(PinScenario, OnceEndsWhenItsPinsAreSet) {
  Node node({.persona = Persona::kContainerd23, .once = true});
  node.PushAndList("r.io/a:v1", kMB, Pinned);
  EXPECT_TRUE(node.EndsByItself(seconds(20)));
  EXPECT_EQ(PinsOf(node), std::set<std::string>{"r.io/a:v1"});
}

TEST(PinScenario, OnceSetsThePinsThatCanBeSet) {
  Node node({.persona = Persona::kContainerd23, .once = true});
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.runtime.RefusePin("r.io/a:v1");
  node.runtime.Push(MakeImage("r.io/b:v1", 400 * kMB));
  node.List({"r.io/a:v1", "r.io/b:v1"}, Pinned);
  for (int i = 0; i < 50 && !node.Ready(); i++) node.RunFor(seconds(1));
  ASSERT_TRUE(node.Ready()) << "before the next try of a";
  EXPECT_TRUE(node.EndsByItself(seconds(20)));
  EXPECT_EQ(PinsOf(node), std::set<std::string>{"r.io/b:v1"});
  EXPECT_EQ(node.Image("r.io/a:v1").pin_problem, "labels too long");
}

// A pull replaces the labels of its name, and --once may end with that pull.
TEST(PinScenario, OnceSetsThePinOfAMovedTagAgain) {
  Node node({.persona = Persona::kContainerd23, .once = true});
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/a:v1"}, [](plan::DesiredImage& desired) {
    desired.pin = true;
    desired.refresh = plan::Refresh::kIfDigestChanged;
  });
  node.RunFor(seconds(20));
  ASSERT_EQ(PinsOf(node), std::set<std::string>{"r.io/a:v1"});
  node.runtime.Push(MakeImage("r.io/a:v1", 2 * kMB));
  node.RestartAgent();
  EXPECT_TRUE(node.EndsByItself(seconds(20)));
  EXPECT_EQ(node.runtime.counters().pull_calls, 2);
  EXPECT_EQ(PinsOf(node), std::set<std::string>{"r.io/a:v1"});
}

TEST(PinScenario, OnceSaysWhatItHasNotPinned) {
  Node node({.persona = Persona::kContainerd23, .once = true});
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.runtime.FailNext(LeaseCall::kPin, 1);
  node.List({"r.io/a:v1"}, Pinned);
  EXPECT_TRUE(node.EndsByItself(seconds(20)));
  EXPECT_EQ(node.Image("r.io/a:v1").pin_problem, "Broken pipe");
}

TEST(PinScenario, ARefusalIsShownAndTriedAgain) {
  Node node(NewContainerd());
  node.PushAndList("r.io/a:v1", kMB);
  node.RunFor(minutes(1));
  node.runtime.FailNext(LeaseCall::kPin, 1);
  node.List({"r.io/a:v1"}, Pinned);
  node.RunFor(seconds(20));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.Image("r.io/a:v1").pin_problem, "Broken pipe");
  node.RunFor(minutes(1));
  EXPECT_TRUE(node.Image("r.io/a:v1").pinned);
  EXPECT_EQ(node.Image("r.io/a:v1").pin_problem, "");
}

}  // namespace
}  // namespace prefetch::tests::pin_scenario_test
