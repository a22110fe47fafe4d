// FleetStatus: the fleet as a JSON document, for -o json and yaml.
#pragma once

#include <string>

#include "report/fleet.h"

namespace prefetch::report {

// One line with a newline. Members are only added, never renamed. `not_ready`: only such nodes are listed;
// the counts are of all.
std::string FleetJson(const Fleet& fleet, base::WallTime time, bool not_ready);

}  // namespace prefetch::report
