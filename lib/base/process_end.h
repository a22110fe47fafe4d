// LimitEnd: how long a program takes to end, whatever hangs.
#pragma once

namespace prefetch::base {

// Ends the process with `code` if it has not ended within 2 s of the first call. A later call changes the
// code. A thread may hang in the kernel (an unresponsive mount, a log that nobody reads), and could never be
// joined. The time is well below the terminationGracePeriodSeconds of the agent's pod. Any thread may call.
void LimitEnd(int code);

// Call it in the main thread, once another thread runs that never hangs in a file system. The signal of
// LimitEnd, SIGALRM, goes to the main thread first, and waits there until a hanging call returns.
void LeaveEndToOtherThreads();

}  // namespace prefetch::base
