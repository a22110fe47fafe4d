// How a command of prefetchctl ends: its exit code, and the sentence that names the mistake.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/exit_code.h"
#include "base/result.h"

namespace prefetch::ctl {

using base::ExitCode;
using enum base::ExitCode;

// Prints the error as one sentence to `err` and gives the exit code for it.
int Fail(const base::Error& error, std::ostream& err);
int Fail(ExitCode code, const base::Error& error, std::ostream& err);

// Mistakes of an input: all that were found, told at once.
using Mistakes = std::vector<std::string>;

// To `err`, one a line; one that has line breaks is several. A mistake in a file begins with its place,
// FILE:LINE:COLUMN, where editors and CI look for it; every other one begins with the program's name.
void PrintMistakes(const Mistakes& mistakes, std::ostream& err);

// Prints the mistakes likewise, and returns the exit code of bad input.
int RejectInput(const Mistakes& mistakes, std::ostream& err);

}  // namespace prefetch::ctl
