// One schedule of faults on a node of real parts, and what must hold meanwhile and afterwards.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "faults/real/fault.h"

namespace prefetch::tests::real_faults {

struct PlannedFault {
  std::size_t kind = 0;   // in FaultKinds
  std::size_t image = 0;  // in RealWorld::images
  std::chrono::milliseconds from{}, to{};
};

struct Schedule {
  std::uint64_t seed = 0;
  Distance distance = Distance::kNear;
  std::vector<PlannedFault> faults;
};

// The same for the same seed. Faults begin while images are pulled, or a few seconds after that.
Schedule MakeSchedule(std::uint64_t seed, std::size_t images);
std::string Describe(const Schedule& schedule);

struct Outcome {
  std::vector<std::string> violations;  // a line each; empty: nothing went wrong
  std::string log;                      // the agent's
};
// The play ends at once with a violation in whose text `awaited` is.
Outcome Violations(const Schedule& schedule, const std::vector<FaultKind>& kinds = FaultKinds(),
                   std::string_view awaited = {});

}  // namespace prefetch::tests::real_faults
