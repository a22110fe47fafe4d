// ExitCode: how a command of prefetchd or prefetchctl ends. The codes are a contract with scripts.
#pragma once

namespace prefetch::base {

enum ExitCode {
  kOk = 0,
  kNegative = 1,  // it was done, and the answer is no
  kBadInput = 2,
  kTimedOut = 3,
  kUnreachable = 4,
  kInterrupted = 128 + 2
};

}  // namespace prefetch::base
