// Steps that parsers of doc share. Internal to doc/.
#pragma once

#include "doc/problems.h"

namespace prefetch::doc {

// Keys that stand twice in a mapping.
enum class Duplicates { kProblem, kLastCounts };

// Leaves each key of `mapping` once: the first, with a problem for each further one, or the last.
void ResolveDuplicates(Node& mapping, Duplicates rule, Problems& problems);

// A YAML scalar without quotes, by its text and the core schema of YAML 1.2: null, boolean, integer, number,
// or text. Octals of YAML 1.1 are text: for YAML 1.2 they are decimals.
void ResolvePlain(Node& node);

}  // namespace prefetch::doc
