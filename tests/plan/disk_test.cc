#include "plan/disk.h"

#include <gtest/gtest.h>

namespace prefetch::plan::disk_test {
namespace {

constexpr std::uint64_t kGiB = 1ULL << 30;

struct DiskCase {
  std::string name;
  DiskSpace disk;
  std::uint64_t bytes;
  bool fits;
};

class DiskTest : public testing::TestWithParam<DiskCase> {};

TEST_P(DiskTest, Row) {
  EXPECT_EQ(Fits(GetParam().disk, GetParam().bytes, Limits{}), GetParam().fits);
}

DiskSpace Disk(std::uint64_t capacity, std::uint64_t available) {
  return {.known = true, .capacity_bytes = capacity * kGiB, .available_bytes = available * kGiB};
}

INSTANTIATE_TEST_SUITE_P(
    Disk, DiskTest,
    testing::Values(DiskCase{"WhatCannotBeMeasuredRefusesNothing", {}, 1000 * kGiB, true},
                    DiskCase{"RoomEnough", Disk(100, 60), 39 * kGiB, true},
                    DiskCase{"WouldPassEightyPercent", Disk(100, 60), 41 * kGiB, false},
                    DiskCase{"UnknownSizeNeedsOnlySomeRoom", Disk(100, 21), 0, true},
                    DiskCase{"AboveTheThresholdNothingStarts", Disk(100, 19), 0, false},
                    DiskCase{"SmallDiskKeepsFiveGiB", Disk(10, 6), 2 * kGiB, false},
                    DiskCase{"SmallDiskMayUseWhatIsAboveThem", Disk(10, 6), kGiB, true}),
    [](const auto& row) { return row.param.name; });

TEST(WithThreshold, TheLowerOneCounts) {
  DiskSpace half_full = Disk(100, 45);
  EXPECT_TRUE(Fits(half_full, kGiB, WithThreshold({}, 0))) << "80 % where kubelet's is not known";
  EXPECT_FALSE(Fits(half_full, kGiB, WithThreshold({}, 50)));
  EXPECT_TRUE(Fits(half_full, kGiB, WithThreshold({}, 90)));
  EXPECT_FALSE(Fits(half_full, kGiB, WithThreshold({.disk_high_percent = 50}, 90)));
  EXPECT_FALSE(Fits(half_full, kGiB, WithThreshold({.disk_high_percent = 90}, 50)));
  EXPECT_EQ(WithThreshold({}, 0), Limits{});
}

TEST(SpaceFor, CountsTheUnpackedBytesToo) {
  EXPECT_EQ(SpaceFor(kGiB), 4 * kGiB);
  EXPECT_EQ(SpaceFor(~0ULL), ~0ULL);
}

}  // namespace
}  // namespace prefetch::plan::disk_test
