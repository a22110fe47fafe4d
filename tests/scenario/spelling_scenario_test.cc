// One image that the list spells in several ways: kubelet 1.36 keeps its records by what a pod writes, so
// that pods of one spelling can be refused what pods of the other may use.
#include <gtest/gtest.h>

#include "plan/readiness.h"
#include "scenario/touch_scenario.h"

namespace prefetch::tests::spelling_scenario_test {
namespace {

using kubelet::VerificationPolicy;
using plan::Reason;

const std::string kFull = "docker.io/library/nginx:1.27";
const std::string kShort = "nginx:1.27";

class SpellingScenario : public TouchScenario {
 protected:
  // A node with the image, listed by these sources, and a kubelet of this policy.
  Node& With(NodeOptions options, const std::vector<std::string>& sources) {
    Make(std::move(options), {kFull});
    node_->Sources(sources);
    return *node_;
  }
  // A pod pulls by this name with the node's own credentials: kubelet records that every pod that writes the
  // name so may use it.
  void NodePulls(const std::string& image) { PodPulls(image, {}); }
  bool ReadyFor(const std::string& source) {
    return plan::EvaluateReady(*node_->Snapshot(), {.policy = {}, .hash = {}, .source = source}).ready;
  }
};

TEST_F(SpellingScenario, PodsOfOneSourceAreRefusedAndItsReadinessSaysSo) {
  Node& node = With(WithoutTouch(), {kFull + "\n", kShort + "\n"});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  NodePulls(kFull);
  ASSERT_TRUE(node.Admits(kFull));
  ASSERT_FALSE(node.Admits(kShort));
  EXPECT_TRUE(node.RunUntil([&] { return !node.Ready(); }, seconds(10)));
  EXPECT_FALSE(ReadyFor("b.txt"));
  EXPECT_FALSE(ReadyFor("a.txt")) << "one entry, and the worst verdict counts";
  EXPECT_EQ(node.ReasonOf(kFull), Reason::kRecordedUnderOtherName);
  EXPECT_HAS(node.Image(kFull).message, kShort);
  EXPECT_EQ(node.runtime.counters().pull_calls, 1) << "no second pull for a second spelling";

  NodePulls(kShort);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  EXPECT_TRUE(ReadyFor("b.txt"));
}

TEST_F(SpellingScenario, OneSourceMayListBoth) {
  Node& node = With(WithoutTouch(), {kFull + "\n" + kShort + "\n"});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  EXPECT_EQ(node.Snapshot()->images.size(), 1U);
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
  NodePulls(kShort);
  EXPECT_TRUE(node.RunUntil([&] { return !node.Ready(); }, seconds(10)));
}

TEST_F(SpellingScenario, ASourceThatGoesTakesItsSpellingAlong) {
  Node& node = With(WithoutTouch(), {kFull + "\n", kShort + "\n"});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  NodePulls(kFull);
  ASSERT_TRUE(node.RunUntil([&] { return !node.Ready(); }, seconds(10)));
  node.Sources({kFull + "\n"});
  node.RunFor(seconds(1));
  EXPECT_TRUE(node.Ready());
  // And back again: not ready for a moment by what was known of the other spelling alone.
  int lines = node.LogLines("node ready");
  node.Sources({kFull + "\n", kShort + "\n"});
  node.RunFor(seconds(10));
  EXPECT_FALSE(node.Ready());
  EXPECT_EQ(node.LogLines("node ready"), lines);
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
}

TEST_F(SpellingScenario, EachSpellingIsTouched) {
  Node& node = With(WithTouch(VerificationPolicy::kAlwaysVerify), {kFull + "\n", kShort + "\n"});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready() && PodsThere() == 0; }, minutes(1)));
  EXPECT_TRUE(node.Admits(kFull));
  EXPECT_TRUE(node.Admits(kShort));
  EXPECT_EQ(PodsCreated(), 1) << "one pod for both";
  EXPECT_EQ(TouchOf(kFull).state, plan::TouchState::kDone);
  EXPECT_EQ(TouchOf(kFull).attempts, 1);
  EXPECT_EQ(node.LogLines("image touched"), 1);
}

TEST_F(SpellingScenario, OnlyTheClosedSpellingIsTouched) {
  Node& node = With(WithTouch(), {kFull + "\n", kShort + "\n"});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  NodePulls(kFull);
  ASSERT_TRUE(node.RunUntil([&] { return !node.Ready(); }, seconds(10)));
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  EXPECT_TRUE(node.Admits(kShort));
  EXPECT_EQ(PodsCreated(), 1);
}

// More spellings than one pod has room for.
TEST_F(SpellingScenario, MoreThanAPodHolds) {
  const std::string digest = MakeImage(kFull, 10'000'000).digest;
  std::string lines;
  for (const char* folder : {"docker.io/library/", "docker.io/", "index.docker.io/", "library/", ""}) {
    for (const char* tag : {"", ":1", ":1.27", ":1.27.0", ":mainline"}) {
      lines += std::string(folder) + "nginx" + tag + "@" + digest + "\n";
    }
  }
  Node& node = With(WithTouch(VerificationPolicy::kAlwaysVerify), {lines});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)))
      << node.Snapshot()->images.at(0).message;
  EXPECT_EQ(node.Snapshot()->images.size(), 1U);
  EXPECT_TRUE(node.Admits("nginx:mainline@" + digest));
  EXPECT_LE(PodsCreated(), 2);
}

}  // namespace
}  // namespace prefetch::tests::spelling_scenario_test
