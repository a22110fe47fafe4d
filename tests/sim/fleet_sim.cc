// How much of a registry a fleet takes: at a start, when the registry comes back, when the list changes. The
// number of nodes is $PREFETCH_SIM_NODES, else 200, with an allowance in proportion; curves are written
// into $PREFETCH_SIM_OUT, if it is set.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "sim/fleet.h"

namespace prefetch::sim {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

// Requests a second that the registry allows 5,000 nodes with 100 tags. Hourly checks take 139 of them.
constexpr double kAllowedFor5000 = 2000;

FleetOptions Options() {
  FleetOptions options{.nodes = NodesFromEnvironment(), .tags = 100};
  options.allowed_per_second = kAllowedFor5000 * options.nodes / 5000;
  options.desired.refresh = plan::Refresh::kIfDigestChanged;
  options.limits.start_jitter = hours(1);
  return options;
}

double Steady(const FleetOptions& options) {
  return options.nodes * options.tags / 3600.0;
}

struct Load {
  double peak = 0, mean = 0;
  double ten_seconds = 0;  // the highest mean over ten of them: few nodes are lumpier than many
  std::uint64_t refused = 0;
};

Load Between(const Fleet& fleet, std::chrono::seconds from, std::chrono::seconds to) {
  Load load;
  for (auto i = static_cast<std::size_t>(from.count()); i < static_cast<std::size_t>(to.count()); i++) {
    if (i >= fleet.load().size()) break;
    const Second& second = fleet.load()[i];
    load.peak = std::max(load.peak, static_cast<double>(second.requests));
    load.mean += second.requests;
    load.refused += second.refused;
    double sum = 0;
    for (std::size_t k = i; k < std::min(fleet.load().size(), i + 10); k++) sum += fleet.load()[k].requests;
    load.ten_seconds = std::max(load.ten_seconds, sum / 10);
  }
  load.mean /= static_cast<double>((to - from).count());
  return load;
}

void Tell(const std::string& what, const Load& load, const FleetOptions& options) {
  std::cout << what << ": " << options.nodes << " nodes, " << options.tags << " tags: peak " << load.peak
            << " requests/s, mean " << load.mean << ", allowed " << options.allowed_per_second << ", refused "
            << load.refused << "\n";
}

void Draw(const Fleet& fleet, const FleetOptions& options, const std::string& name,
          const std::string& title) {
  const char* folder = std::getenv("PREFETCH_SIM_OUT");
  if (folder == nullptr) return;
  std::ofstream(std::string(folder) + "/" + name)
      << LoadCurve(fleet.load(), options.allowed_per_second, title);
}

TEST(Sim, AWarmStartIsNoStorm) {
  FleetOptions options = Options();
  Fleet fleet(options);
  fleet.StartWarm();
  fleet.RunUntil(hours(3));
  Load load = Between(fleet, minutes(0), hours(3));
  Tell("warm start", load, options);
  Draw(fleet, options, "warm-start.svg", "Agents of all nodes start at once; everything is here");
  EXPECT_LE(load.peak, 3 * Steady(options) + 20);
  EXPECT_EQ(load.refused, 0U);
  EXPECT_EQ(fleet.Fresh(), 1);
}

TEST(Sim, AColdStartWithJitterStaysBelowWhatIsAllowed) {
  FleetOptions options = Options();
  Fleet fleet(options);
  fleet.StartCold();
  fleet.RunUntil(hours(2));
  Load load = Between(fleet, minutes(0), hours(2));
  Tell("cold start, startJitter 1h", load, options);
  Draw(fleet, options, "cold-start.svg", "All nodes begin with an empty list; startJitter 1h");
  EXPECT_EQ(fleet.Present(), 1);
  EXPECT_LE(load.ten_seconds, options.allowed_per_second);
}

TEST(Sim, AColdStartWithoutJitterEndsAllTheSame) {
  FleetOptions options = Options();
  options.limits.start_jitter = minutes(0);
  Fleet fleet(options);
  fleet.StartCold();
  fleet.RunUntil(hours(6));
  Load first = Between(fleet, minutes(0), minutes(1));
  Load later = Between(fleet, hours(5), hours(6));
  Tell("cold start, no jitter, first minute", first, options);
  Tell("cold start, no jitter, sixth hour", later, options);
  Draw(fleet, options, "cold-start-no-jitter.svg",
       "All nodes begin with an empty list at once; no startJitter");
  EXPECT_EQ(fleet.Present(), 1) << "429 slows down, and loses nothing";
  EXPECT_LE(later.peak, options.allowed_per_second);
}

TEST(Sim, ARegistryThatComesBackIsNotStormed) {
  FleetOptions options = Options();
  Fleet fleet(options);
  fleet.OutageBetween(hours(2), hours(8));
  fleet.StartWarm();
  fleet.RunUntil(hours(8));
  EXPECT_EQ(fleet.Fresh(), 0);
  fleet.RunUntil(hours(11));
  Load after = Between(fleet, hours(8), hours(11));
  Tell("after an outage of six hours", after, options);
  Draw(fleet, options, "recovery.svg", "The registry is away from 2 h to 8 h");
  EXPECT_LE(after.peak, 4 * Steady(options) + 20);
  EXPECT_EQ(after.refused, 0U);
  EXPECT_GE(fleet.Fresh(), 0.999);
}

TEST(Sim, AListChangeWithJitterStaysBelowWhatIsAllowed) {
  FleetOptions options = Options();
  Fleet fleet(options);
  fleet.NewTagsAt(hours(2), 20);
  fleet.StartWarm();
  fleet.RunUntil(hours(4));
  Load change = Between(fleet, hours(2), hours(4));
  Tell("20 new tags, startJitter 1h", change, options);
  Draw(fleet, options, "list-change.svg", "20 of 100 tags are new at 2 h; startJitter 1h");
  EXPECT_LE(change.ten_seconds, options.allowed_per_second);
  EXPECT_EQ(fleet.Present(), 1);
}

}  // namespace
}  // namespace prefetch::sim
