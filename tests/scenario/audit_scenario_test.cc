// What comes to the node without being on the list.
#include <gtest/gtest.h>

#include "scenario/node.h"

namespace prefetch::tests::audit_scenario_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
constexpr std::uint64_t kMB = 1'000'000;

std::vector<std::string> UnlistedOf(const Node& node) {
  std::vector<std::string> names;
  plan::SnapshotPtr snapshot = node.Snapshot();
  if (!snapshot->unlisted) return {"not known"};
  for (const plan::UnlistedImage& image : snapshot->unlisted->images) names.push_back(image.image);
  return names;
}

TEST(AuditScenario, AnImageThatAPodBroughtIsSeenAndWhatTheListBringsIsNot) {
  Node node;
  node.runtime.Preload(MakeImage("r.io/old:v1", kMB));
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  EXPECT_EQ(UnlistedOf(node), std::vector<std::string>{"not known"});
  node.List({"r.io/a:v1"});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(10)));
  node.RunFor(minutes(1));
  EXPECT_EQ(UnlistedOf(node), std::vector<std::string>{});
  int looks = node.runtime.counters().list_calls;
  node.runtime.Preload(MakeImage("r.io/pods:v1", kMB));
  EXPECT_TRUE(node.RunUntil([&] { return !UnlistedOf(node).empty(); }, seconds(10)));
  EXPECT_EQ(UnlistedOf(node), std::vector<std::string>{"r.io/pods:v1"});
  EXPECT_EQ(node.LogLines("images came that are on no list"), 1);
  EXPECT_TRUE(node.Ready());
  EXPECT_LE(node.runtime.counters().list_calls, looks + 2) << "it rides on the look that is taken anyway";

  node.runtime.Remove("r.io/pods:v1");
  EXPECT_TRUE(node.RunUntil([&] { return !node.Snapshot()->unlisted->images.at(0).present; }, seconds(10)));
  node.runtime.Push(MakeImage("r.io/pods:v1", kMB));
  node.List({"r.io/a:v1", "r.io/pods:v1"});
  EXPECT_TRUE(node.RunUntil([&] { return UnlistedOf(node).empty(); }, seconds(10)));
  node.RunFor(minutes(1));
  EXPECT_EQ(UnlistedOf(node), std::vector<std::string>{});
}

TEST(AuditScenario, ANewAgentBeginsAnew) {
  Node node;
  node.List({});
  node.RunFor(seconds(10));
  node.runtime.Preload(MakeImage("r.io/pods:v1", kMB));
  node.RunFor(seconds(10));
  EXPECT_EQ(UnlistedOf(node).size(), 1U);
  node.RestartAgent();
  node.RunFor(seconds(10));
  EXPECT_EQ(UnlistedOf(node), std::vector<std::string>{});
}

}  // namespace
}  // namespace prefetch::tests::audit_scenario_test
