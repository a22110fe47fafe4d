// Faults on real parts, in real time: schedules of up to three of them, from seeds. $PREFETCH_FAULT_SEEDS is
// their number, $PREFETCH_FAULT_FIRST the first seed; without them it is forty that take seconds and one of
// minutes, or with $PREFETCH_FAULT_LENGTH only those of `seconds` or of `minutes`. The test prints the
// schedules that it ran.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include "faults/environment.h"
#include "faults/real/play.h"

namespace prefetch::tests::real_faults {
namespace {

constexpr std::size_t kImages = 4;
constexpr std::uint64_t kSeeds = 41;
// They wait out a retry rule: registries that limit, full disks. One stands for them.
const std::set<std::uint64_t> kLeftOut = {32}, kOfMinutes = {24};

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
  const char* text = std::getenv("PREFETCH_FAULT_LENGTH");
  const std::string_view length = text == nullptr ? "" : text;
  std::vector<std::uint64_t> seeds(count == 0 ? kSeeds : count);
  std::iota(seeds.begin(), seeds.end(), first);
  std::erase_if(seeds, [&](std::uint64_t seed) {
    const bool of_minutes = kOfMinutes.count(seed) != 0;
    return (count == 0 && kLeftOut.count(seed) != 0) || (length == "seconds" && of_minutes) ||
           (length == "minutes" && !of_minutes);
  });
  return seeds;
}

// A few seeds may be none of minutes.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RealFaults);
INSTANTIATE_TEST_SUITE_P(Seed, RealFaults, testing::ValuesIn(Seeds()));

}  // namespace
}  // namespace prefetch::tests::real_faults
