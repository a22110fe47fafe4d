// Orphans: what children leave behind. As PID 1 of its container this process inherits the processes that its
// children started, and is the only one that can reap them.
//
// Two threads can wait for a child: the one that started it, and the one that reaps orphans. So that the
// second never takes the first one's, this table has every child with a waiter. Any thread.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "base/call.h"

namespace prefetch::base {

// Reaps every process that has ended and has no waiter, be it in a child's process group or in a session of
// its own. If this process is not PID 1 (or a subreaper), it inherits nothing, and nothing happens. Never
// blocks.
void ReapOrphans();

// The rest is for code that starts children.

// Runs `spawn`, which starts one child, puts its id into `child` and returns an errno. On success the child
// is reaped by ReapChild alone.
int StartChild(const std::function<int(pid_t& child)>& spawn, pid_t& child);

// Reaps a child of StartChild that has ended, and says how. One that still runs (a kernel that waits for a
// dead disk) is an orphan from now on; `si_pid` is then 0.
siginfo_t ReapChild(pid_t child);

// When a child that is not reaped yet began, in the kernel's ticks; nullopt: /proc does not tell.
std::optional<std::uint64_t> BeganAt(pid_t child);

// After a SIGKILL to a child's process group, and ReapChild: waits until the last inherited member of it is
// reaped, until `limit` at most.
void ReapKilledGroup(pid_t group, TimePoint limit);

// The same for those that left its group: kills every inherited process without a waiter that began with the
// child or later, then what these leave, until `limit` at most. One that another child left meanwhile goes,
// too, unless it is in the group of a child that still runs.
void KillOrphansSince(std::uint64_t began_at, TimePoint limit);

}  // namespace prefetch::base
