// Clients that read nothing: the built agent has to stay far below the memory that its manifest gives it, the
// kernel's buffers for its sockets included, and answer each probe meanwhile. How soon it does is printed:
// p99 is below 10 ms on a quiet machine.
#include "system/slow_readers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

namespace prefetch::system::slow_readers_test {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kLimit = std::uint64_t{128} << 20;  // deploy/base: resources.limits.memory

class SlowReadersTest : public testing::Test {
 protected:
  void SetUp() override { readers_.StartAgent(); }

  void ExpectHarmless(const std::vector<std::string>& paths, seconds time) {
    SlowReaders::Probes probes = readers_.Attack(paths, time);
    const std::uint64_t peak = readers_.AgentPeakBytes();
    std::sort(probes.seconds.begin(), probes.seconds.end());
    const auto percentile = [&](std::size_t percent) {
      return probes.seconds.empty() ? 0 : 1000 * probes.seconds[probes.seconds.size() * percent / 100];
    };
    std::cout << "peak " << (peak >> 20) << " MiB, kernel " << (readers_.kernel_bytes() >> 20) << " MiB, "
              << probes.seconds.size() << " probes: p50 " << percentile(50) << " ms, p99 " << percentile(99)
              << " ms\n";
    EXPECT_TRUE(readers_.AgentRuns());
    EXPECT_GT(peak, 0U);
    EXPECT_GT(readers_.kernel_bytes(), 0U);
    EXPECT_LT(peak + readers_.kernel_bytes(), kLimit);
    EXPECT_GT(probes.seconds.size(), 100U);
    EXPECT_EQ(probes.unanswered, 0);
  }

  SlowReaders readers_;
};

TEST_F(SlowReadersTest, OfTheStatusTakeLittleMemoryAndKeepNoProbeWaiting) {
  ExpectHarmless({"/v1/status"}, seconds(12));
  // Clients that read get answers again.
  EXPECT_TRUE(rig::Eventually(seconds(20), [&] { return readers_.Answers("/v1/status", "HTTP/1.1 200"); }));
}

TEST_F(SlowReadersTest, OfEverythingElseDoNotEither) {
  ExpectHarmless({"/readyz?verbose", "/metrics", "/v1/status"}, seconds(8));
}

}  // namespace
}  // namespace prefetch::system::slow_readers_test
