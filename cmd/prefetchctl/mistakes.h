// Mistakes of an input: all that were found, told at once.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace prefetch::ctl {

using Mistakes = std::vector<std::string>;

// To `err`, one a line; one that has line breaks is several. A mistake in a file begins with its place,
// FILE:LINE:COLUMN, where editors and CI look for it; every other one begins with the program's name.
void Tell(const Mistakes& mistakes, std::ostream& err);

// The same, with the exit code of bad input.
int Refuse(const Mistakes& mistakes, std::ostream& err);

}  // namespace prefetch::ctl
