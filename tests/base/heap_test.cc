#include "base/process_stat.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

namespace prefetch::base::heap_test {
namespace {

constexpr std::size_t kMiB = 1 << 20;

std::size_t ResidentBytes() {
  std::size_t all = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(Heap, WhatABurstLeavesBehindIsGivenBack) {
  constexpr std::size_t kBlock = 1000;
  std::vector<std::unique_ptr<char[]>> burst(32 * kMiB / kBlock);
  for (auto& block : burst) {
    block = std::make_unique<char[]>(kBlock);
    std::memset(block.get(), 1, kBlock);
  }
  // The newest block stays, so the heap's end cannot go down.
  burst.erase(burst.begin(), burst.end() - 1);
  std::size_t before = ResidentBytes();
  ReturnFreeMemory();
  EXPECT_LT(ResidentBytes() + 24 * kMiB, before);
}

}  // namespace
}  // namespace prefetch::base::heap_test
