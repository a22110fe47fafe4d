// An agent that is killed at any byte of its pulls, round after round. $PREFETCH_KILL_ROUNDS is the number of
// rounds, $PREFETCH_FAULT_FIRST their seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "faults/environment.h"
#include "faults/real/world.h"
#include "rig/expect_ok.h"

namespace prefetch::tests::real_faults {
namespace {

constexpr std::uint64_t kRounds = 12;
// A kill costs the bytes in buffers, the manifests and tokens of the next try, and their headers.
constexpr std::uint64_t kOfAKill = 150'000;

TEST(RealKills, LoseNeitherBytesNorImages) {
  const std::uint64_t rounds = FromEnvironment("PREFETCH_KILL_ROUNDS", kRounds);
  std::mt19937_64 random(FromEnvironment("PREFETCH_FAULT_FIRST", 1));
  RealWorld world;
  system::Node& node = world.node();
  const auto all_are_here = [&] {
    return std::all_of(world.images().begin(), world.images().end(),
                       [&](const std::string& image) { return node.Has(image); });
  };
  std::uint64_t fetched_anew = 1, before = 0;
  for (std::uint64_t round = 0; round < rounds; round++) {
    const std::uint64_t target = world.BytesSent() + random() % 2'000'000;
    rig::Eventually(seconds(2), [&] { return world.BytesSent() > target; });
    world.KillAgent();
    // Killed so often that nothing moves would be no test.
    if (round % 8 == 7) {
      ASSERT_TRUE(node.BecomesReady(seconds(60))) << node.AgentLog();
      ASSERT_TRUE(all_are_here());
      world.RemoveEveryName();
      fetched_anew++;
    }
    ASSERT_GE(world.BytesSent(), before);
    before = world.BytesSent();
  }
  ASSERT_TRUE(node.BecomesReady(seconds(60))) << node.AgentLog();
  EXPECT_TRUE(all_are_here());
  const std::uint64_t content = fetched_anew * world.BytesOfAll();
  std::printf("%llu kills: %llu bytes for %llu bytes of content\n", static_cast<unsigned long long>(rounds),
              static_cast<unsigned long long>(world.BytesSent()), static_cast<unsigned long long>(content));
  EXPECT_LE(world.BytesSent(), content + content / 50 + rounds * kOfAKill);
}

}  // namespace
}  // namespace prefetch::tests::real_faults
