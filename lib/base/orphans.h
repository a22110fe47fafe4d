// Orphans: what children leave behind. As PID 1 of its container this process inherits the processes that its
// children started, and is the only one that can reap them. Internal to base/.
#pragma once

#include <sys/types.h>

#include "base/call.h"

namespace prefetch::base {

// Reaps those members of a child's process group that have ended; the child itself has been reaped. After a
// SIGKILL to the group it waits until the last one is gone, until `limit` at most. A group of which somebody
// lives on is looked at again by each later call. Any thread. Where this process is not PID 1 (or a
// subreaper) there is nothing to reap, and nothing happens.
void ReapOrphans(pid_t group, bool killed, TimePoint limit);

}  // namespace prefetch::base
