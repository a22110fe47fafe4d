// StandardOutput: whether the program's output has arrived. Its exit code must not report success for an
// unreadable result.
#pragma once

#include "base/result.h"

namespace prefetch::base {

// The one who reads standard output has gone away (| head). Never blocks.
bool StdoutReaderIsGone();

// Flushes std::cout, which may block on a full pipe. Unavailable, with a sentence, if something that was
// printed could not be written. A reader that has gone away wanted no more: that is no failure.
Status StdoutDelivered();

}  // namespace prefetch::base
