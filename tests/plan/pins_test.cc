#include "plan/pins.h"

#include <gtest/gtest.h>

#include <string>

namespace prefetch::plan::pins_test {
namespace {

constexpr std::uint64_t kGB = 1'000'000'000;
// The disk rule leaves 80.0 GB to images.
const DiskSpace kDisk{.known = true, .capacity_bytes = 100 * kGB, .available_bytes = 50 * kGB};
const Limits kLimits{.disk_min_free_bytes = 0, .disk_high_percent = 80};
using Names = std::vector<std::string>;

DesiredPin Wish(const std::string& name, const std::string& id, std::uint64_t size = kGB,
                bool reported = false) {
  return {.name = name, .id = id, .size_bytes = size, .reported = reported};
}

TEST(DecidePins, PinsPresentImagesOnce) {
  const std::vector<DesiredPin> wishes = {Wish("a", "1"), Wish("b", ""), Wish("c", "2", kGB, true)};
  PinDecision decision = DecidePins(wishes, {}, kDisk, kLimits);
  EXPECT_EQ(decision.pin, Names{"a"}) << "b is absent, and another client has pinned c";
  EXPECT_EQ(decision.unpin, Names{});
  EXPECT_EQ(DecidePins(wishes, {"a"}, kDisk, kLimits), PinDecision())
      << "the runtime reports it a moment later";
}

TEST(DecidePins, UnpinsItsOwnThatNothingAsksFor) {
  // b is being pulled again: its label stays.
  PinDecision decision =
      DecidePins({Wish("a", "1", kGB, true), Wish("b", "")}, {"a", "b", "gone"}, kDisk, kLimits);
  EXPECT_EQ(decision.pin, Names{});
  EXPECT_EQ(decision.unpin, Names{"gone"});
  EXPECT_EQ(DecidePins({}, {"a", "b"}, kDisk, kLimits).unpin, (Names{"a", "b"}));
}

TEST(DecidePins, StaysWithinTheDiskRule) {
  const std::vector<DesiredPin> wishes = {Wish("first", "1", 30 * kGB), Wish("large", "2", 15 * kGB),
                                          Wish("small", "3", 10 * kGB), Wish("again", "1", 30 * kGB)};
  PinDecision decision = DecidePins(wishes, {"large"}, kDisk, kLimits);
  EXPECT_EQ(decision.pin, (Names{"first", "small", "again"}));
  EXPECT_EQ(decision.unpin, Names{"large"}) << "the disk shrank, or the list has grown before it";
  ASSERT_EQ(decision.refused.size(), 1U);
  EXPECT_EQ(decision.refused["large"],
            "the images of the list that are pinned before it take at least 60.0 GB, it takes 30.0 GB, and "
            "the disk "
            "rule leaves 80.0 GB to images: kubelet's garbage collection could not free enough room");
  EXPECT_EQ(DecidePins(wishes, {}, {}, kLimits).pin.size(), 4U) << "the disk cannot be measured";
}

TEST(MayUnpin, NotWhileASourceHasNoVersionInForce) {
  ImageList list;
  EXPECT_FALSE(MayUnpin(list)) << "the folder of lists is empty";
  list.sources.push_back({.name = "a.yaml", .path = "", .hash = "sha256:1"});
  EXPECT_TRUE(MayUnpin(list));
  list.sources.back().error = "line 3";
  EXPECT_TRUE(MayUnpin(list)) << "the version before is in force";
  list.sources.back().hash.clear();
  EXPECT_FALSE(MayUnpin(list));
}

TEST(ReportsPins, FromTheReleasesThatFollowLabels) {
  for (const char* version :
       {"1.6.25", "1.6.36", "v1.7.10", "1.7.24~ds1", "2.0.0", "2.1.9", "v2.4.0-beta.0"}) {
    EXPECT_TRUE(ReportsPins(version)) << version;
  }
  for (const char* version : {"1.6.20", "1.6.24~ds1-2", "1.7.9", "1.5.18", "", "unknown", "1.7"}) {
    EXPECT_FALSE(ReportsPins(version)) << version;
  }
}

}  // namespace
}  // namespace prefetch::plan::pins_test
