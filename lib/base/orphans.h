// Orphans: what children leave behind. As PID 1 of its container this process inherits the processes that its
// children started, and is the only one that can reap them.
//
// Two threads can wait for a child: the one that started it, and the one that reaps orphans. So that the
// second never takes the first one's, this table has every child with a waiter. Any thread.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>

#include "base/call.h"

namespace prefetch::base {

// Reaps every process that has ended and has no waiter, be it in a child's process group or in a session of
// its own. While no child has a waiter, it also kills what runs without one: a child that has ended has given
// its answer, and what it left behind would hold memory of this process's container for ever. If this process
// is not PID 1 (or a subreaper), it inherits nothing, and nothing happens. Never blocks.
void ReapOrphans();

// The rest is for code that starts children.

// Runs `spawn`, which starts one child, puts its id into `child` and returns an errno. On success the child
// is reaped by ReapChild alone.
int StartChild(const std::function<int(pid_t& child)>& spawn, pid_t& child);

// Reaps a child of StartChild that has ended, and says how; then does the same as ReapOrphans. One that still
// runs (a kernel that waits for a dead disk) is an orphan from now on; `si_pid` is then 0.
siginfo_t ReapChild(pid_t child);

// After a SIGKILL to a child's process group, and ReapChild: waits until the last inherited member of it is
// reaped, and, while no child runs, every other orphan, until `limit` at most.
void ReapKilledGroup(pid_t group, TimePoint limit);

}  // namespace prefetch::base
