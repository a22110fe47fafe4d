// Images that kubelet's garbage collection must spare.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "scenario/node.h"

namespace prefetch::tests::pin_scenario_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint64_t kMB = 1'000'000;

NodeOptions NewContainerd() {
  NodeOptions options;
  options.persona = Persona::kContainerd23;
  return options;
}

void Pinned(plan::DesiredImage& want) {
  want.pin = true;
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
            [](plan::DesiredImage& want) { want.pin = want.reference.written() == "r.io/a:v1"; });
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
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/a:v1"}, Pinned);
  node.RunFor(minutes(1));
  ASSERT_EQ(PinsOf(node), std::set<std::string>{"r.io/a:v1"});
  node.List({"r.io/a:v1"});
  node.RestartAgent();
  node.RunFor(minutes(1));
  EXPECT_EQ(PinsOf(node), std::set<std::string>{});
}

TEST(PinScenario, AnotherClientsPinStays) {
  Node node(NewContainerd());
  node.runtime.Push(MakeImage("r.io/pause:v1", kMB));
  node.List({"r.io/pause:v1"});
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
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/a:v1"}, Pinned);
  node.RunFor(minutes(1));
  node.runtime.Remove("r.io/a:v1");
  node.RunFor(minutes(3));
  EXPECT_TRUE(node.Image("r.io/a:v1").pinned);
  node.runtime.LabelPin("r.io/a:v1", "");
  node.RunFor(minutes(3));
  EXPECT_TRUE(node.Image("r.io/a:v1").pinned);
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
  EXPECT_NE(node.Image("r.io/b:v1").pin_problem.find("the disk rule leaves 800 MB to images"),
            std::string::npos)
      << node.Image("r.io/b:v1").pin_problem;
  EXPECT_EQ(node.LogLines("image not pinned"), 1);
}

TEST(PinScenario, AnOldContainerdDoesNotReportIt) {
  Node node;  // 1.6.20
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/a:v1"}, Pinned);
  node.RunFor(minutes(10));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(PinsOf(node), std::set<std::string>{"r.io/a:v1"}) << "it will count after an upgrade";
  EXPECT_EQ(node.Image("r.io/a:v1").pin_problem,
            "containerd 1.6.20~ds1 does not report its label: it needs 1.6.25, 1.7.10 or later");
  EXPECT_EQ(node.runtime.counters().pin_calls, 1);
}

TEST(PinScenario, CrioPinsByItsConfiguration) {
  NodeOptions options;
  options.persona = Persona::kCrio;
  Node node(std::move(options));
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/a:v1"}, Pinned);
  node.RunFor(minutes(2));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.Image("r.io/a:v1").pin_problem,
            "this runtime pins images by its configuration: name it in pinned_images of crio.conf");
}

TEST(PinScenario, OnceEndsWhenItsPinsAreSet) {
  NodeOptions options = NewContainerd();
  options.once = true;
  Node node(std::move(options));
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/a:v1"}, Pinned);
  EXPECT_TRUE(node.EndsByItself(seconds(20)));
  EXPECT_EQ(PinsOf(node), std::set<std::string>{"r.io/a:v1"});
}

TEST(PinScenario, ARefusalIsShownAndTriedAgain) {
  Node node(NewContainerd());
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/a:v1"});
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
