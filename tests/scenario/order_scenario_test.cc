// The order of equals: an image that would end last begins once half of the others are here.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "scenario/node.h"

namespace prefetch::tests::order_scenario_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
constexpr std::uint64_t kMB = 1'000'000;
constexpr const char* kLarge = "near.test/large:v1";

NodeOptions WithNearRegistries(Persona persona = Persona::kContainerd23) {
  NodeOptions options{.persona = persona};
  options.near_registries = true;
  return options;
}

// `count` images of 10 MB, then a large one.
std::vector<std::string> SmallThenLarge(Node& node, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; i++) {
    names.push_back("near.test/app" + std::to_string(i) + ":v1");
    node.runtime.Push(MakeImage(names.back(), 10 * kMB));
  }
  names.emplace_back(kLarge);
  node.runtime.Push(MakeImage(kLarge, 1000 * kMB));
  node.runtime.SetBandwidth(10 * kMB);
  return names;
}

// How many of them the runtime had when the pull of the large one began; -1: it never did.
int HereBeforeLarge(Node& node, const std::vector<std::string>& names) {
  if (!node.RunUntil([&] { return node.runtime.StageOf(kLarge).has_value(); }, minutes(10))) return -1;
  return static_cast<int>(std::count_if(names.begin(), names.end(),
                                        [&](const std::string& name) { return !node.IdOf(name).empty(); }));
}

TEST(OrderScenario, TheLargestBeginsOnceHalfAreHere) {
  Node node(WithNearRegistries());
  const std::vector<std::string> names = SmallThenLarge(node, 28);
  node.List(names);
  const int here = HereBeforeLarge(node, names);
  EXPECT_GE(here, 15);
  EXPECT_LE(here, 19) << "four may have ended meanwhile";
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(10)));
}

TEST(OrderScenario, AHigherPriorityStillGoesFirst) {
  Node node(WithNearRegistries());
  const std::vector<std::string> names = SmallThenLarge(node, 28);
  node.List(names, [](plan::DesiredImage& desired) {
    if (desired.reference.Normalized() != kLarge) desired.priority = 1;
  });
  EXPECT_GE(HereBeforeLarge(node, names), 24);
}

// Only images that still wait once half of the list is here or under way, each once.
TEST(OrderScenario, SizesCostOneRequestEach) {
  Node node(WithNearRegistries());
  const std::vector<std::string> names = SmallThenLarge(node, 28);
  node.List(names);
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(10)));
  EXPECT_LE(node.registries.manifests(), 4 + 15) << "up to four of the first pulls have asked, too";
  EXPECT_GE(node.registries.manifests(), 11);
  EXPECT_EQ(node.runtime.counters().pull_calls, 29);
}

TEST(OrderScenario, NobodyAsksForSizesWhereTheRuntimeFetches) {
  Node node(WithNearRegistries(Persona::kContainerd16));
  const std::vector<std::string> names = SmallThenLarge(node, 28);
  node.List(names);
  EXPECT_GE(HereBeforeLarge(node, names), 24);
  EXPECT_EQ(node.registries.manifests(), 0);
}

// One denied question is the last one; the order is that of the list, and nothing fails for it.
TEST(OrderScenario, ADenyingRegistryIsAskedOnce) {
  Node node(WithNearRegistries());
  const std::vector<std::string> names = SmallThenLarge(node, 28);
  node.List(names);
  ASSERT_TRUE(node.RunUntil([&] { return node.registries.manifests() > 0; }, seconds(10)));
  const int before = node.registries.manifests();
  node.registries.Set("near.test", RegistryMood::kDenying);
  EXPECT_GE(HereBeforeLarge(node, names), 24);
  EXPECT_LE(node.registries.manifests(), before + 2) << "two questions at a time";
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(10)));
}

// What the disk rule knows beforehand costs no pull.
TEST(OrderScenario, AnImageThatCannotFitIsNotBegun) {
  Node node(WithNearRegistries());
  node.disk = {.known = true, .capacity_bytes = 100'000 * kMB, .available_bytes = 27'000 * kMB};
  std::vector<std::string> names = SmallThenLarge(node, 12);
  node.runtime.Push(MakeImage(kLarge, 90'000 * kMB));
  node.List(names);
  ASSERT_TRUE(
      node.RunUntil([&] { return node.ReasonOf(kLarge) == plan::Reason::kDiskPressure; }, minutes(5)));
  node.RunFor(minutes(1));
  EXPECT_EQ(node.runtime.counters().pull_calls, 12);
}

}  // namespace
}  // namespace prefetch::tests::order_scenario_test
