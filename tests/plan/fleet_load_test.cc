#include "plan/fleet_load.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rig/expect_has.h"

namespace prefetch::plan::fleet_load_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint64_t kMB = 1'000'000;

LoadImage Image(const std::string& registry, const std::string& digest, std::uint64_t mb, int priority = 0) {
  return {.registry = registry,
          .priority = priority,
          .manifests = 3,
          .blobs = {{digest, mb * kMB}, {"base", 100 * kMB}}};
}

TEST(FleetLoad, CountsBytesPullsAndRequestsOfEachRegistry) {
  const FleetLoad load =
      LoadOf({Image("r.io", "a", 200), Image("r.io", "b", 300), Image("q.io", "c", 400)}, {.nodes = 10});
  // The layer "base" is fetched once.
  EXPECT_EQ(load.bytes, 1000 * kMB);
  ASSERT_EQ(load.registries.size(), 2U);
  EXPECT_EQ(load.registries[0].registry, "q.io");
  EXPECT_EQ(load.registries[0].bytes, 400 * kMB);
  EXPECT_EQ(load.registries[0].requests, 10 * (3 + 1U));
  EXPECT_EQ(load.registries[1].images, 2U);
  EXPECT_EQ(load.registries[1].bytes, 600 * kMB);
  EXPECT_EQ(load.registries[1].pulls, 20U);
  EXPECT_EQ(load.registries[1].requests, 10 * (3 + 2 + 3 + 1U));
  EXPECT_EQ(load.warnings, std::vector<std::string>());
}

TEST(FleetLoad, TheHighestPriorityIsThereFirst) {
  const FleetLoad load = LoadOf({Image("r.io", "a", 800), Image("r.io", "b", 100, 10)},
                                {.nodes = 100, .node_rate = 100 * kMB, .registry_rate = 1000 * kMB});
  ASSERT_EQ(load.priorities.size(), 2U);
  EXPECT_EQ(load.priorities[0].priority, 10);
  EXPECT_DOUBLE_EQ(load.priorities[0].node_seconds, 2);
  EXPECT_DOUBLE_EQ(load.priorities[0].fleet_seconds, 20) << "100 nodes share 1 GB/s";
  EXPECT_DOUBLE_EQ(load.priorities[1].node_seconds, 10);
  EXPECT_DOUBLE_EQ(load.priorities[1].fleet_seconds, 100);
  EXPECT_EQ(load.rollout.waves, 10U);
  EXPECT_EQ(load.rollout.nodes, 10U);
  EXPECT_DOUBLE_EQ(load.rollout.wave_seconds, 10);
}

TEST(LongestClosed, IsTheLongestTimeOfAWeek) {
  const PullWindow night = {.start = hours(22), .end = hours(6)},
                   noon = {.start = hours(12), .end = hours(13)};
  const PullWindow sunday = {.start = hours(22), .end = hours(6), .days = 1U << 6};
  EXPECT_EQ(LongestClosed({night}), hours(16));
  EXPECT_EQ(LongestClosed({night, noon}), hours(9));
  EXPECT_EQ(LongestClosed({sunday}), hours(7 * 24 - 8));
}

TEST(FleetLoad, WavesAreOfWholeNodes) {
  const FleetLoad load = LoadOf({Image("r.io", "a", 100)}, {.nodes = 11});
  EXPECT_EQ(load.rollout.nodes, 2U);
  EXPECT_EQ(load.rollout.waves, 6U);
}

TEST(FleetLoad, JitterSpreadsTheFirstRequestsAndCostsNothingBelowTheTimeForTheBytes) {
  const FleetLoad load = LoadOf(
      {Image("r.io", "a", 900), Image("r.io", "b", 500)},
      {.nodes = 600, .node_rate = 100 * kMB, .registry_rate = 1000 * kMB, .start_jitter = seconds(300)});
  ASSERT_EQ(load.spreads.size(), 5U);
  EXPECT_EQ(load.rollout.nodes, 60U);
  EXPECT_DOUBLE_EQ(load.rollout.wave_seconds, 300 + 15) << "each wave waits anew";
  EXPECT_EQ(load.spreads[0].start_jitter, seconds(0));
  EXPECT_DOUBLE_EQ(load.spreads[0].first_second, 600 * 2 * 3);
  EXPECT_DOUBLE_EQ(load.spreads[0].ready_seconds, 900) << "600 x 1.5 GB at 1 GB/s";
  EXPECT_EQ(load.spreads[2].start_jitter, seconds(300));
  EXPECT_DOUBLE_EQ(load.spreads[2].first_second, 2 * 2 * 3);
  EXPECT_DOUBLE_EQ(load.spreads[2].ready_seconds, 900);
  EXPECT_EQ(load.spreads[4].start_jitter, minutes(60));
  EXPECT_DOUBLE_EQ(load.spreads[4].ready_seconds, 3600 + 15);
}

TEST(FleetLoad, ComparesPullsWithTheirWindow) {
  const PullWindow night = {.start = hours(22), .end = hours(6)};
  const PullWindow noon = {.start = hours(12), .end = hours(13)};
  std::vector<LoadImage> images = {Image("r.io", "a", 500), Image("r.io", "b", 300), Image("r.io", "c", 100)};
  images[0].windows = images[1].windows = {night, noon};
  FleetOptions options = {.nodes = 300, .registry_rate = 100 * kMB};
  FleetLoad load = LoadOf(images, options);
  ASSERT_EQ(load.windows.size(), 1U);
  EXPECT_EQ(load.windows[0].text, "22:00 to 06:00 UTC; 12:00 to 13:00 UTC");
  EXPECT_EQ(load.windows[0].images, 2U);
  EXPECT_EQ(load.windows[0].bytes, 900 * kMB) << "with the layer that both have";
  EXPECT_EQ(load.windows[0].open, hours(1)) << "the shortest";
  EXPECT_DOUBLE_EQ(load.windows[0].fleet_seconds, 2700);
  EXPECT_EQ(load.warnings, std::vector<std::string>());
  options.start_jitter = hours(2);
  EXPECT_DOUBLE_EQ(LoadOf(images, options).windows[0].fleet_seconds, 2700) << "a half of the window";
  options.nodes = 600;
  load = LoadOf(images, options);
  EXPECT_DOUBLE_EQ(load.windows[0].fleet_seconds, 5400);
  ASSERT_EQ(load.warnings.size(), 1U);
  EXPECT_EQ(
      load.warnings[0],
      "pullWindow 22:00 to 06:00 UTC; 12:00 to 13:00 UTC: 2 images need 90 min, and it is open for 60 min: "
      "pulls that have not started wait for the next one; open it for longer, or shorten the list");
  EXPECT_TRUE(LoadOf({Image("r.io", "a", 500)}, options).windows.empty());
}

TEST(FleetLoad, WarnsOfDockerHubsLimit) {
  const std::vector<LoadImage> images = {Image("docker.io", "a", 1), Image("docker.io", "b", 1)};
  FleetLoad load = LoadOf(images, {.nodes = 50});
  EXPECT_EQ(load.warnings, std::vector<std::string>()) << "100 pulls are allowed";
  load = LoadOf(images, {.nodes = 150});
  ASSERT_EQ(load.warnings.size(), 1U);
  EXPECT_EQ(load.warnings[0],
            "docker.io: 300 pulls, and Docker Hub allows 100 in 6 h: the last node is served after 18 h; use "
            "a paid account, or a pull-through cache, or set limits.startJitter to 18 h");
  EXPECT_EQ(LoadOf(images, {.nodes = 150, .hub_pulls = 300}).warnings, std::vector<std::string>());
  load = LoadOf(images, {.nodes = 5000});
  ASSERT_EQ(load.warnings.size(), 1U);
  EXPECT_LACKS(load.warnings[0], "startJitter") << "it cannot be 25 days";
}

TEST(FleetLoad, WarnsOfEcrsLimits) {
  const std::string ecr = "123456789012.dkr.ecr.eu-west-1.amazonaws.com";
  const std::vector<LoadImage> images = {Image(ecr, "a", 1), Image(ecr, "b", 1), Image(ecr, "c", 1),
                                         Image(ecr, "d", 1)};
  EXPECT_EQ(LoadOf(images, {.nodes = 160}).warnings, std::vector<std::string>());
  FleetLoad load = LoadOf(images, {.nodes = 500});
  ASSERT_EQ(load.warnings.size(), 1U);
  EXPECT_HAS(load.warnings[0], "6000 requests for manifests in one second, and ECR allows 2000");
  EXPECT_HAS(load.warnings[0], "limits.startJitter to at least 3s");
  EXPECT_EQ(LoadOf(images, {.nodes = 500, .start_jitter = seconds(3)}).warnings, std::vector<std::string>());
  load = LoadOf({Image("public.ecr.aws", "a", 900)}, {.nodes = 501});
  ASSERT_EQ(load.warnings.size(), 1U);
  EXPECT_TRUE(load.warnings[0].starts_with("public.ecr.aws: 501 GB, and ECR Public sends 500 GB a month"))
      << load.warnings[0];
}

}  // namespace
}  // namespace prefetch::plan::fleet_load_test
