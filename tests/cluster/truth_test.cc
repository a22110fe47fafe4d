// Whether the verdict and readiness are true, by real pods on a real kubelet.
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "cluster/crio.h"
#include "cluster/walk.h"
#include "rows.h"

namespace prefetch::cluster::truth_test {
namespace {

std::vector<std::uint32_t> Seeds() {
  const char* seeds = std::getenv("PREFETCH_CLUSTER_SEEDS");
  std::istringstream words(seeds == nullptr ? "1" : seeds);
  std::vector<std::uint32_t> result;
  for (std::uint32_t seed = 0; words >> seed;) result.push_back(seed);
  return result;
}

int Steps() {
  const char* steps = std::getenv("PREFETCH_CLUSTER_STEPS");
  return steps == nullptr ? 45 : std::atoi(steps);
}

// Real pods meet what was said, step by step.
void ExpectTruth(RealNode& node, std::uint32_t seed) {
  Walk walk(node, seed);
  auto start = std::chrono::steady_clock::now();
  // It ends at its first disagreement: what is done after one is done to a node that is no longer understood.
  while (walk.counts().steps < Steps() && !testing::Test::HasFailure()) {
    walk.Step();
    for (const std::string& disagreement : walk.counts().disagreements)
      ADD_FAILURE() << "seed " << seed << ", " << disagreement;
  }
  const WalkCounts& counts = walk.counts();
  std::printf(
      "seed %u: %d steps in %.0f s, %d containers judged, %zu disagreements, %d unknown, %d asked again, "
      "longest false ready %.1f s, longest false not ready %.1f s\n",
      seed, counts.steps, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
      counts.judged, counts.disagreements.size(), counts.unknown, counts.repeated, counts.longest_false_ready,
      counts.longest_false_unready);
}

TEST_TABLE(Truth, PodsMeetWhatWasSaid, std::uint32_t) {
  ASSERT_NE(SharedControlPlane(), nullptr);
  RealNode node(*SharedControlPlane());
  ExpectTruth(node, row);
}

INSTANTIATE_TEST_SUITE_P(Seed, Truth, testing::ValuesIn(Seeds()));

// On CRI-O kubelet's records have other image references, and images other names after a tag has moved.
class TruthOnCrio : public Truth {};

TEST_P(TruthOnCrio, PodsMeetWhatWasSaid) {
  ASSERT_NE(SharedControlPlane(), nullptr);
  const OnCrio on_crio;
  RealNode node(*SharedControlPlane());
  ExpectTruth(node, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Seed, TruthOnCrio, testing::ValuesIn(Seeds()));

}  // namespace
}  // namespace prefetch::cluster::truth_test
