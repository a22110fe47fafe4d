// Room on the node.
#include <gtest/gtest.h>

#include "scenario/node.h"

namespace prefetch::tests::disk_scenario_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
constexpr std::uint64_t kMB = 1'000'000;
constexpr std::uint64_t kGiB = 1ULL << 30;

TEST(DiskScenario, ANodeAboveTheThresholdPullsNothingAndSaysSo) {
  Node node;
  node.disk = {.known = true, .capacity_bytes = 100 * kGiB, .available_bytes = 15 * kGiB};
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.List({"r.io/a:v1"});
  node.RunFor(minutes(10));
  EXPECT_EQ(node.runtime.counters().pull_calls, 0);
  EXPECT_EQ(node.ReasonOf("r.io/a:v1"), plan::Reason::kDiskPressure);
  EXPECT_TRUE(node.Snapshot()->disk.pressure);
  node.disk.available_bytes = 60 * kGiB;
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(20)));
}

TEST(DiskScenario, WhatTurnsOutNotToFitIsEndedAndSmallOnesOvertake) {
  Node node;
  node.disk = {.known = true, .capacity_bytes = 100 * kGiB, .available_bytes = 30 * kGiB};
  node.runtime.SetBandwidth(100 * kMB);
  node.runtime.Push(MakeImage("r.io/huge:v1", 8 * kGiB));
  node.runtime.Push(MakeImage("r.io/small:v1", 10 * kMB));
  node.List({"r.io/huge:v1", "r.io/small:v1"});
  node.RunFor(minutes(10));
  EXPECT_TRUE(node.Image("r.io/small:v1").ready);
  EXPECT_EQ(node.ReasonOf("r.io/huge:v1"), plan::Reason::kDiskPressure);
  EXPECT_EQ(node.runtime.counters().pull_calls, 2);  // no pull-evict loop
  EXPECT_GE(node.Snapshot()->disk.needed_bytes, 8 * kGiB);
  EXPECT_LT(node.runtime.BytesStored(), 20 * kMB);  // its lease is gone, so its bytes are
}

// Bytes on the disk are no longer free, so the figures would not fit together otherwise.
TEST(DiskScenario, TheBytesNeededAreThoseThatAreStillToCome) {
  Node node;
  node.disk = {.known = true, .capacity_bytes = 1000 * kGiB, .available_bytes = 900 * kGiB};
  node.runtime.SetBandwidth(100 * kMB);
  node.runtime.Push(MakeImage("r.io/a:v1", 4'000 * kMB));
  node.List({"r.io/a:v1"});
  node.RunFor(seconds(30));
  const std::uint64_t needed = node.Snapshot()->disk.needed_bytes;
  EXPECT_LT(needed, 14'000 * kMB);
  EXPECT_GT(needed, 12'000 * kMB);
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  EXPECT_EQ(node.Snapshot()->disk.needed_bytes, 0U);
}

// A job's files fill the disk for some seconds while an image is pulled, and that is no need of the image.
class FilledForAMoment : public testing::TestWithParam<Persona> {};

TEST_P(FilledForAMoment, LeavesTheImageToBePulled) {
  Node node({.persona = GetParam()});
  node.disk = {.known = true, .capacity_bytes = 100 * kGiB, .available_bytes = 90 * kGiB};
  node.runtime.SetBandwidth(100 * kMB);
  node.runtime.Push(MakeImage("r.io/a:v1", 2'000 * kMB));
  node.List({"r.io/a:v1"});
  node.RunFor(seconds(10));
  node.disk.available_bytes = kGiB;
  ASSERT_TRUE(
      node.RunUntil([&] { return node.ReasonOf("r.io/a:v1") == plan::Reason::kDiskPressure; }, seconds(20)));
  node.RunFor(seconds(10));
  node.disk.available_bytes = 90 * kGiB;
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(2))) << node.Image("r.io/a:v1").message;
}

INSTANTIATE_TEST_SUITE_P(, FilledForAMoment, testing::Values(Persona::kContainerd23, Persona::kCrio),
                         [](const auto& row) {
                           return std::string(row.param == Persona::kCrio ? "CriO" : "Containerd");
                         });

TEST(DiskScenario, EnospcStopsNewPulls) {
  Node node;
  std::vector<std::string> names;
  for (int i = 0; i < 10; i++) {
    names.push_back("r.io/app" + std::to_string(i) + ":v1");
    node.runtime.Push(MakeImage(names.back(), kMB));
  }
  node.runtime.SetDiskFull(true);
  node.List(names);
  node.RunFor(minutes(4));
  EXPECT_LE(node.runtime.counters().pull_calls, 4);
  EXPECT_EQ(node.ReasonOf(names[9]), plan::Reason::kDiskFull);
  node.runtime.SetDiskFull(false);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(10)));
}

TEST(DiskScenario, ADiskThatStaysFullIsTriedMoreAndMoreSeldom) {
  Node node;
  node.runtime.Push(MakeImage("r.io/a:v1", kMB));
  node.runtime.SetDiskFull(true);
  node.List({"r.io/a:v1"});
  node.RunFor(std::chrono::hours(24));
  EXPECT_LE(node.runtime.counters().pull_calls, 30);
  EXPECT_TRUE(node.Image("r.io/a:v1").settled);
}

}  // namespace
}  // namespace prefetch::tests::disk_scenario_test
