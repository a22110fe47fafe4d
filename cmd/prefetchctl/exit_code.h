// Exit codes of prefetchctl: design.md section 7.
#pragma once

#include "base/result.h"

namespace prefetch::ctl {

enum ExitCode { kOk = 0, kNo = 1, kBadInput = 2, kTimedOut = 3, kUnreachable = 4, kInterrupted = 128 + 2 };

// Prints the error as one sentence to stderr and gives the exit code for it.
int Fail(const base::Error& error);
int Fail(ExitCode code, const base::Error& error);

}  // namespace prefetch::ctl
