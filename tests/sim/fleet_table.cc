// The table of deploy/docs/fleets.md: a fleet that starts cold, gets a new list, or has its registry back,
// with and without mirrors among the nodes, by startJitter. The number of nodes is $PREFETCH_SIM_NODES;
// without it, there are 200, and three rows. The registry's limits are in proportion.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "rows.h"
#include "sim/fleet.h"

namespace prefetch::sim {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr int kTags = 100, kNewTags = 20;
constexpr double kImageBytes = 100e6;
// Limits for 5,000 nodes: requests and bytes a second.
constexpr double kAllowed = 2000, kSent = 12.5e9;

enum class Event { kColdStart, kListChange, kRecovery };

struct Case {
  Event event = Event::kColdStart;
  bool peers = false;
  seconds jitter{0};
};

struct Row {
  base::Duration half{}, most{};  // time from the event until half, or most, nodes are ready
  double requests = 0;            // a second, the highest mean over ten
  double refused = 0;             // of all requests
  double bytes = 0, bytes_a_second = 0;
};

FleetOptions OptionsOf(const Case& one) {
  FleetOptions options{.nodes = NodesFromEnvironment(), .tags = kTags};
  const double part = options.nodes / 5000.0;
  options.allowed_per_second = kAllowed * part;
  options.desired.refresh = plan::Refresh::kIfDigestChanged;
  options.limits.start_jitter = one.jitter;
  options.image_bytes = kImageBytes;
  options.registry_rate = kSent * part;
  options.peers = one.peers;
  return options;
}

void CountRequests(const Fleet& fleet, Row& row) {
  double all = 0, refused = 0, ten = 0;
  const std::vector<Second>& load = fleet.load();
  for (std::size_t i = 0; i < load.size(); i++) {
    all += load[i].requests;
    refused += load[i].refused;
    ten += load[i].requests - (i >= 10 ? load[i - 10].requests : 0.0);
    row.requests = std::max(row.requests, ten / 10);
  }
  row.refused = all > 0 ? refused / all : 0;
}

// Fails the test if a node never gets ready.
Row RowOf(const Case& one) {
  Fleet fleet(OptionsOf(one));
  // While the registry is away a new list comes; what counts begins with its return.
  constexpr hours kListAt{1}, kBack{4};
  base::Duration event{0};
  if (one.event == Event::kListChange) event = kListAt;
  if (one.event == Event::kRecovery) event = kBack;
  if (one.event == Event::kColdStart) {
    fleet.StartCold();
  } else {
    fleet.NewTagsAt(kListAt, kNewTags);
    if (one.event == Event::kRecovery) fleet.OutageBetween(minutes(30), kBack);
    fleet.StartWarm();
  }
  const auto is_done = [&] { return fleet.ReadyAfter(1).has_value(); };
  base::Duration until = event + minutes(10);
  for (; until < hours(48); until += minutes(10)) {
    fleet.RunUntil(until);
    if (is_done()) break;
  }
  EXPECT_TRUE(is_done());
  const base::Duration before = one.event == Event::kRecovery ? kBack - kListAt : hours(0);
  Row row{.half = fleet.ReadyAfter(0.5).value_or(base::Duration(0)) - before,
          .most = fleet.ReadyAfter(0.99).value_or(base::Duration(0)) - before,
          .bytes = fleet.uplink().bytes(),
          .bytes_a_second = fleet.uplink().most_a_second()};
  CountRequests(fleet, row);
  return row;
}

double Minutes(base::Duration time) {
  return std::chrono::duration<double>(time).count() / 60;
}

void Print(const Case& one, const Row& row) {
  static const char* const kNames[] = {"cold start", "list change", "recovery"};
  std::printf("| %s | %s | %lld min | %.0f min | %.0f min | %.0f | %.1f %% | %.2f TB | %.1f Gbit/s |\n",
              kNames[static_cast<int>(one.event)], one.peers ? "P2P" : "registry",
              static_cast<long long>(one.jitter.count() / 60), Minutes(row.half), Minutes(row.most),
              row.requests, 100 * row.refused, row.bytes / 1e12, row.bytes_a_second * 8 / 1e9);
  std::fflush(stdout);
}

Row Shown(const Case& one) {
  const Row row = RowOf(one);
  Print(one, row);
  return row;
}

TEST_TABLE(FleetTable, MirrorsAmongTheNodesTakeTheBytesOffTheRegistry, std::tuple<Event, int>) {
  const auto [event, jitter_minutes] = row;
  const minutes jitter(jitter_minutes);
  const Row alone = Shown({.event = event, .peers = false, .jitter = jitter});
  const Row peers = Shown({.event = event, .peers = true, .jitter = jitter});
  EXPECT_LT(peers.bytes, 0.1 * alone.bytes);
  EXPECT_LE(peers.most, alone.most + minutes(2));
  // Nothing is sent twice.
  const int tags = event == Event::kColdStart ? kTags : kNewTags;
  EXPECT_NEAR(alone.bytes, NodesFromEnvironment() * tags * kImageBytes, kImageBytes);
}

std::string NameOf(const testing::TestParamInfo<FleetTable::ParamType>& row) {
  static const char* const kNames[] = {"ColdStart", "ListChange", "Recovery"};
  const auto [event, jitter] = row.param;
  return kNames[static_cast<int>(event)] + std::to_string(jitter);
}

std::vector<FleetTable::ParamType> Rows() {
  if (std::getenv("PREFETCH_SIM_NODES") == nullptr)
    return {{Event::kColdStart, 0}, {Event::kListChange, 10}, {Event::kRecovery, 60}};
  std::vector<FleetTable::ParamType> all;
  for (Event event : {Event::kColdStart, Event::kListChange, Event::kRecovery}) {
    for (int jitter : {0, 10, 60}) all.emplace_back(event, jitter);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Fleet, FleetTable, testing::ValuesIn(Rows()), NameOf);

TEST(FleetTime, AColdStartTakesAsLongAsTheRegistryNeedsToSend) {
  const Row row = RowOf({.event = Event::kColdStart});
  const double seconds_to_send = 5000.0 * kTags * kImageBytes / kSent;
  EXPECT_GE(Minutes(row.most) * 60, 0.95 * seconds_to_send);
  EXPECT_LE(Minutes(row.most) * 60, 1.3 * seconds_to_send);
}

}  // namespace
}  // namespace prefetch::sim
