#include "plan/disk_budget.h"

#include <gtest/gtest.h>

namespace prefetch::plan::disk_test {
namespace {

constexpr std::uint64_t kGiB = 1ULL << 30;

struct DiskCase {
  std::string name;
  DiskSpace disk;
  std::uint64_t usable;
};

class DiskTest : public testing::TestWithParam<DiskCase> {};

TEST_P(DiskTest, Row) {
  EXPECT_EQ(Usable(GetParam().disk, Limits{}) / kGiB, GetParam().usable);
}

DiskSpace Disk(std::uint64_t capacity, std::uint64_t available) {
  return {.known = true, .capacity_bytes = capacity * kGiB, .available_bytes = available * kGiB};
}

INSTANTIATE_TEST_SUITE_P(Disk, DiskTest,
                         testing::Values(DiskCase{"WhatCannotBeMeasuredLimitsNothing", {}, ~0ULL / kGiB},
                                         DiskCase{"DownToAFifth", Disk(100, 60), 40},
                                         DiskCase{"OneIsLeft", Disk(100, 21), 1},
                                         DiskCase{"AboveTheThresholdNothing", Disk(100, 19), 0},
                                         DiskCase{"SmallDiskKeepsFiveGiB", Disk(10, 6), 1}),
                         [](const auto& row) { return row.param.name; });

TEST(WithThreshold, TheLowerOneCounts) {
  DiskSpace half_full = Disk(100, 45);
  EXPECT_EQ(Usable(half_full, WithThreshold({}, 0)), 25 * kGiB) << "80 % where kubelet's is not known";
  EXPECT_EQ(Usable(half_full, WithThreshold({}, 50)), 0U);
  EXPECT_EQ(Usable(half_full, WithThreshold({}, 90)), 35 * kGiB);
  EXPECT_EQ(Usable(half_full, WithThreshold({.disk_high_percent = 50}, 90)), 0U);
  EXPECT_EQ(Usable(half_full, WithThreshold({.disk_high_percent = 90}, 50)), 0U);
  EXPECT_EQ(WithThreshold({}, 0), Limits{});
  EXPECT_EQ(Usable(half_full, WithThreshold({}, 100)), 40 * kGiB) << "5 GiB stay free";
  EXPECT_EQ(Usable(half_full, WithThreshold({}, 101)), 40 * kGiB) << "no more than all of it";
}

}  // namespace
}  // namespace prefetch::plan::disk_test
