// Keys that stand twice in a mapping. Internal to doc/.
#pragma once

#include "doc/problems.h"

namespace prefetch::doc {

enum class Duplicates { kProblem, kLastCounts };

// Leaves each key of `mapping` once: the first, with a problem for each further one, or the last.
void ResolveDuplicates(Node& mapping, Duplicates rule, Problems& problems);

}  // namespace prefetch::doc
