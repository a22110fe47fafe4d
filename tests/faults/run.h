// Runs a schedule on a node in virtual time, and holds the agent to what must be true whatever goes wrong. It
// knows no script: an observer compares the agent's words with the models at every moment.
#pragma once

#include <string>
#include <vector>

#include "faults/schedule.h"

namespace prefetch::tests::faults {

// The rules that were broken, a sentence each; empty: none. The schedule's faults are of these kinds.
std::vector<std::string> Violations(const Schedule& schedule,
                                    const std::vector<FaultKind>& kinds = FaultKinds());

}  // namespace prefetch::tests::faults
