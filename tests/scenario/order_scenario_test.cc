// The order of equals: an image that would end last begins once half of the others are here.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "rows.h"
#include "scenario/node.h"

namespace prefetch::tests::order_scenario_test {
namespace {

constexpr const char* kLarge = "near.test/large:v1";

NodeOptions WithNearRegistries(Persona persona = Persona::kContainerd23) {
  NodeOptions options{.persona = persona};
  options.near_registries = true;
  return options;
}

// `count` images of 10 MB, then a large one.
std::vector<std::string> SmallThenLarge(Node& node, int count) {
  std::vector<std::string> names = Numbered("near.test/app", count);
  for (const std::string& name : names) node.runtime.Push(MakeImage(name, 10 * kMB));
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

// Sizes cost one request for each image that still waits once half of the list is here or under way.
TEST(OrderScenario, TheLargestBeginsOnceHalfAreHere) {
  Node node(WithNearRegistries());
  const std::vector<std::string> names = SmallThenLarge(node, 28);
  node.List(names);
  const int here = HereBeforeLarge(node, names);
  EXPECT_GE(here, 15);
  EXPECT_LE(here, 19) << "four may have ended meanwhile";
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(10)));
  EXPECT_LE(node.registries.manifests(), 4 + 15) << "up to four of the first pulls have asked, too";
  EXPECT_GE(node.registries.manifests(), 11);
  EXPECT_EQ(node.runtime.counters().pull_calls, 29);
}

TEST(OrderScenario, AHigherPriorityStillGoesFirst) {
  Node node(WithNearRegistries());
  const std::vector<std::string> names = SmallThenLarge(node, 28);
  node.List(names, [](plan::DesiredImage& desired) {
    if (desired.reference.Normalized() != kLarge) desired.priority = 1;
  });
  EXPECT_GE(HereBeforeLarge(node, names), 24);
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

// If the disk rule knows beforehand that an image does not fit, the agent does not pull it.
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

// Which images an agent asks a near registry about, before their pulls: those that wait once half of the list
// is here or under way.

using Change = std::function<void(plan::DesiredImage&)>;

std::string App(int i) {
  return "near.test/app" + std::to_string(i) + ":v1";
}

// A node that has learnt from one image that the registry is near. Four pulls of 10 MB last four seconds.
class SizeScenario : public testing::Test {
 protected:
  SizeScenario() {
    node_.PushAndList("near.test/first:v1", kMB);
    EXPECT_TRUE(node_.RunUntil([&] { return node_.Ready(); }, minutes(1)));
    EXPECT_EQ(node_.registries.manifests(), 1);
    node_.runtime.SetBandwidth(10 * kMB);
  }

  std::vector<std::string> Push(int first, int last) {
    std::vector<std::string> names;
    for (int i = first; i < last; i++) {
      names.push_back(App(i));
      node_.runtime.Push(MakeImage(names.back(), 10 * kMB));
    }
    return names;
  }
  // While none of them is here yet.
  int AskedAtFirst(const std::vector<std::string>& names, const Change& change = nullptr) {
    node_.List(names, change);
    node_.RunFor(seconds(1));
    EXPECT_EQ(node_.runtime.counters().pull_calls, 1 + 4);
    return Asked();
  }
  // How many of the images app0, app1, … from `first` on; none was asked about twice.
  int Asked(int first = 0, int last = 100) {
    int asked = 0;
    for (int i = first; i < last; i++) {
      const int times = node_.registries.manifests(App(i));
      EXPECT_LE(times, 1) << App(i);
      asked += times;
    }
    return asked;
  }
  // Lists six images of this registry, then four of another one, until the others' pulls have all places.
  // Three of the first six are here by then.
  void UntilTheOthersHaveAllPlaces() {
    std::vector<std::string> names = Push(0, 6);
    for (int i = 0; i < 4; i++) {
      names.push_back("other.test/app" + std::to_string(i) + ":v1");
      node_.runtime.Push(MakeImage(names.back(), 1000 * kMB));
    }
    node_.List(names);
    ASSERT_TRUE(node_.RunUntil(
        [&] {
          return std::count_if(names.begin() + 6, names.end(), [&](const std::string& name) {
                   return node_.runtime.StageOf(name).has_value();
                 }) == 4;
        },
        minutes(1)));
    node_.RunFor(seconds(1));
  }

  Node node_{WithNearRegistries()};
};

struct SizesRow {
  std::string name;
  int images, asked;
};

TEST_TABLE_F(SizesAsked, AtFirst, SizeScenario, SizesRow) {
  EXPECT_EQ(AskedAtFirst(Push(0, row.images)), row.asked);
}

TEST_ROWS(Order, SizesAsked, {"TheLastOneIsNotAskedAbout", 5, 0}, {"TheLastTwoAre", 6, 2},
          {"HalfOfThemAreUnderWay", 8, 4}, {"LessThanHalfAreUnderWay", 9, 0});

TEST_F(SizeScenario, ImagesThatWereHereDoNotCount) {
  std::vector<std::string> names = Push(0, 8);
  for (int i = 20; i < 40; i++) {
    names.push_back(App(i));
    node_.runtime.Preload(MakeImage(names.back(), 10 * kMB));
  }
  EXPECT_EQ(AskedAtFirst(names), 4);
}

TEST_F(SizeScenario, ImagesOfOtherNodesDoNotCount) {
  EXPECT_EQ(
      AskedAtFirst(Push(0, 28),
                   [](plan::DesiredImage& desired) {
                     if (desired.reference.Normalized() >= App(8) || desired.reference.Normalized() < App(2))
                       desired.nodes.platforms = {{.os = "linux", .architecture = "riscv64"}};
                   }),
      2);
}

TEST_F(SizeScenario, AnImageThatIsGoneIsAskedAboutOnce) {
  std::vector<std::string> names = Push(0, 4);
  names.insert(names.end(), {"near.test/gone0:v1", "near.test/gone1:v1", "near.test/gone2:v1"});
  AskedAtFirst(names);
  node_.RunFor(seconds(2));
  for (int i = 0; i < 3; i++) EXPECT_EQ(node_.registries.manifests(names.at(4 + i)), 1) << i;
}

TEST_F(SizeScenario, ARegistryThatAsksForPatienceIsNotAsked) {
  node_.runtime.Fail(App(0), image::ErrorClass::kRateLimited);
  UntilTheOthersHaveAllPlaces();
  EXPECT_EQ(Asked(), 0);
  node_.runtime.Fail(App(0), std::nullopt);
  EXPECT_TRUE(node_.RunUntil([&] { return Asked() > 0; }, minutes(5))) << "it was patient for long enough";
}

TEST_F(SizeScenario, UpdatesAndImagesOfNoListWaitToo) {
  const auto refreshed = [](plan::DesiredImage& desired) {
    if (desired.reference.Normalized() >= App(6)) return;
    desired.refresh = plan::Refresh::kIfDigestChanged;
    desired.refresh_interval = seconds(60);
  };
  std::vector<std::string> names = Push(90, 98);  // half of the list, from the beginning
  node_.List(names);
  ASSERT_TRUE(node_.RunUntil([&] { return node_.Ready(); }, minutes(5)));
  // Somebody else has pulled an earlier version of these six, so their sizes are not known.
  for (const std::string& name : Push(0, 6)) {
    names.push_back(name);
    node_.runtime.Preload(MakeImage(name, {{name + " before", 10 * kMB}}));
  }
  node_.List(names, refreshed);
  node_.runtime.SetBandwidth(kMB / 100);
  const auto moved = [&](const std::string& name) {
    return node_.Image(name).registry && node_.Image(name).registry->reason == plan::Reason::kTagMoved;
  };
  ASSERT_TRUE(
      node_.RunUntil([&] { return std::count_if(names.begin(), names.end(), moved) == 6; }, minutes(5)));
  for (const std::string& name : Push(6, 10)) names.push_back(name);
  node_.List(names, refreshed);
  node_.RunFor(seconds(2));
  for (const std::string& name : Push(60, 64)) node_.RequestPull(name);
  node_.RunFor(seconds(2));
  EXPECT_EQ(Asked(0, 6), 0);
  EXPECT_GT(Asked(6, 10), 0);
  EXPECT_EQ(Asked(60, 64), 0);
}

}  // namespace
}  // namespace prefetch::tests::order_scenario_test
