// Faults on real parts, in real time: schedules of up to three of them, from seeds. $PREFETCH_FAULT_SEEDS is
// their number, $PREFETCH_FAULT_FIRST the first seed; without them the first forty that take seconds,
// and one of minutes. What was run goes to standard output.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <numeric>
#include <set>

#include "faults/environment.h"
#include "faults/real/play.h"
#include "system/fetch_parts.h"

namespace prefetch::tests::real_faults {
namespace {

constexpr std::size_t kImages = 4;
constexpr std::uint64_t kSeeds = 41;
// They wait out a retry rule: registries that limit, full disks. Seed 23, a full disk, stands for them.
const std::set<std::uint64_t> kOfMinutes = {25};

class RealFaults : public testing::TestWithParam<std::uint64_t> {
 protected:
  // Schedules and violations, by kind.
  static std::map<std::size_t, std::pair<int, int>>& Cells() {
    static std::map<std::size_t, std::pair<int, int>> cells;
    return cells;
  }
  static void TearDownTestSuite() {
    for (const auto& [kind, cell] : Cells()) {
      std::cout << std::left << std::setw(12) << FaultKinds()[kind].part << std::setw(28)
                << FaultKinds()[kind].manner << std::right << std::setw(6) << cell.first << std::setw(6)
                << cell.second << "\n";
    }
  }
};

TEST_P(RealFaults, BreakNothingThatMustHold) {
  const Schedule schedule = MakeSchedule(GetParam(), kImages);
  const auto [violations, log] = Violations(schedule);
  for (const PlannedFault& fault : schedule.faults) {
    Cells()[fault.kind].first++;
    Cells()[fault.kind].second += violations.empty() ? 0 : 1;
  }
  for (const std::string& violation : violations)
    ADD_FAILURE() << Describe(schedule) << violation << "\n" << log;
}

std::vector<std::uint64_t> Seeds() {
  const std::uint64_t first = FromEnvironment("PREFETCH_FAULT_FIRST", 0);
  const std::uint64_t count = FromEnvironment("PREFETCH_FAULT_SEEDS", 0);
  std::vector<std::uint64_t> seeds(count == 0 ? kSeeds : count);
  std::iota(seeds.begin(), seeds.end(), first);
  if (count == 0) std::erase_if(seeds, [](std::uint64_t seed) { return kOfMinutes.count(seed) != 0; });
  return seeds;
}

INSTANTIATE_TEST_SUITE_P(Seed, RealFaults, testing::ValuesIn(Seeds()));

TEST(RealFaultWorld, AFarOneHasAnAgentThatDownloads) {
  RealWorld world(Distance::kFar);
  ASSERT_TRUE(rig::Eventually(std::chrono::seconds(60), [&] { return world.NodeLabel() == "ready"; }))
      << world.node().AgentLog();
  const double fetched = system::FetchedBytes(world.node().Get("/metrics").body);
  if (world.agent_downloads()) {
    EXPECT_GE(fetched, static_cast<double>(world.BytesOfAll())) << world.node().AgentLog();
  } else {
    EXPECT_EQ(fetched, 0);
  }
}

// Rules that are told something untrue of a fault notice it.
std::string AllViolations(std::string_view manner, const std::function<void(FaultKind&)>& change,
                          std::chrono::milliseconds to = std::chrono::seconds(5)) {
  std::vector<FaultKind> kinds = FaultKinds();
  const auto kind =
      std::find_if(kinds.begin(), kinds.end(), [&](const FaultKind& one) { return one.manner == manner; });
  EXPECT_NE(kind, kinds.end());
  change(*kind);
  const PlannedFault fault{.kind = static_cast<std::size_t>(kind - kinds.begin()),
                           .image = 2,
                           .from = std::chrono::milliseconds(500),
                           .to = to};
  std::string all;
  for (const std::string& violation : Violations({.seed = 0, .faults = {fault}}, kinds).violations)
    all += violation + "\n";
  return all;
}

TEST(RealFaultRules, NoticeAFailureWithoutACause) {
  EXPECT_NE(AllViolations("absent", [](FaultKind& kind) { kind.reasons.clear(); })
                .find("fails for Unreachable, which nothing has caused"),
            std::string::npos);
}

TEST(RealFaultRules, NoticeARecordThatClosesAnImage) {
  EXPECT_NE(AllViolations("close an image", [](FaultKind& kind) { kind.reasons.clear(); })
                .find("fails for RecordedForOthers, which nothing has caused"),
            std::string::npos);
}

TEST(RealFaultRules, NoticeAnAgentThatIsReadyWhileKubeletRefuses) {
  const auto pretend = [](RealWorld& world, const std::string& image) { world.PretendRefused(image); };
  EXPECT_NE(AllViolations("close an image",
                          [&](FaultKind& kind) {
                            kind.begin = pretend;
                            kind.end = [](RealWorld&, const std::string&) {};
                            kind.recovers = std::chrono::seconds(12);
                          })
                .find("ready, and kubelet refuses"),
            std::string::npos);
}

TEST(RealFaultRules, NoticeANodeThatIsNotReadyAnyMore) {
  const auto close_once_ready = [](RealWorld& world, const std::string& image) {
    if (world.node().Get("/readyz").status == 200) world.CloseRecord(image);
  };
  EXPECT_NE(AllViolations(
                "close an image",
                [&](FaultKind& kind) {
                  kind.begin = [](RealWorld&, const std::string&) {};
                  kind.period = std::chrono::milliseconds(500);
                  kind.tick = close_once_ready;
                  kind.leaves_ready = true;
                },
                std::chrono::seconds(12))
                .find("ready no more"),
            std::string::npos);
}

TEST(RealFaultRules, NoticeANodeWhoseLabelStaysWrong) {
  EXPECT_NE(
      AllViolations("is absent", [](FaultKind& kind) { kind.end = [](RealWorld&, const std::string&) {}; })
          .find("the Node does not say that it is ready"),
      std::string::npos);
}

TEST(RealFaultRules, NoticeBytesThatAreFetchedTwice) {
  const auto remove = [](RealWorld& world, const std::string&) {
    EXPECT_TRUE(
        rig::Eventually(std::chrono::seconds(30), [&] { return world.node().Get("/readyz").status == 200; }));
    world.RemoveEveryName();
  };
  EXPECT_NE(AllViolations("loses an image", [&](FaultKind& kind) { kind.end = remove; }).find(" would do"),
            std::string::npos);
}

}  // namespace
}  // namespace prefetch::tests::real_faults
