// Schedule: up to three faults, when each begins and ends, and on which image; all of it from a seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "faults/fault.h"
#include "faults/step.h"

namespace prefetch::tests::faults {

struct PlannedFault {
  std::size_t kind = 0;   // in FaultKinds
  std::size_t image = 0;  // in World::images
  base::Duration from{};  // since the node's start
  base::Duration to{};
  // It begins once the image is there, from `from` on, and ends as much later; if that takes longer than
  // kLongestWait, it begins all the same.
  std::optional<Step> step = std::nullopt;
};

constexpr std::chrono::seconds kLongestWait{90};

struct Schedule {
  std::uint64_t seed = 0;
  Persona runtime = Persona::kContainerd23;
  std::vector<PlannedFault> faults;
};

// The same for the same seed, everywhere. Faults begin in the first minute, while images are pulled, or
// later, when all is quiet. Half of them wait for a step of their image's way.
Schedule MakeSchedule(std::uint64_t seed, const std::vector<std::string>& images);

// For a person who looks at a failure: "registry absent from 3.2 s to 40 s".
std::string Describe(const Schedule& schedule, const std::vector<std::string>& images);

}  // namespace prefetch::tests::faults
