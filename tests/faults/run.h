// Runs a schedule on a node in virtual time, and holds the agent to what must be true whatever goes wrong. It
// knows no script: an observer compares the agent's words with the models at every moment.
#pragma once

#include <string>
#include <vector>

#include "faults/schedule.h"

namespace prefetch::tests::faults {

// What was broken, a sentence each; empty: nothing.
std::vector<std::string> Violations(const Schedule& schedule);

}  // namespace prefetch::tests::faults
