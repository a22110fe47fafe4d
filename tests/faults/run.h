// Plays a schedule on a node in virtual time, before an observer.
#pragma once

#include <string>
#include <vector>

#include "faults/schedule.h"

namespace prefetch::tests::faults {

struct Outcome {
  std::vector<std::string> violations;  // of rules, a sentence each
  std::vector<bool> at_step;            // of each fault: did it begin at the step that it waited for?
};

// The schedule's faults are of these kinds.
Outcome Play(Schedule schedule, const std::vector<FaultKind>& kinds = FaultKinds());

}  // namespace prefetch::tests::faults
