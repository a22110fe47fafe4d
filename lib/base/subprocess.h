// RunProcess: one child process from start to end, with no way to hang, flood or outlive its limits.
// ReapOrphans: the processes that children leave behind.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/call.h"
#include "base/result.h"
#include "base/secret.h"

namespace prefetch::base {

// A program and its arguments. A value.
struct Command {
  std::vector<std::string> argv;         // argv[0] is the path that is executed: no shell, no search in PATH
  std::vector<std::string> environment;  // "NAME=value"; all of it, nothing of ours is added
  std::string directory;                 // where it runs; empty: where we are
  std::size_t max_output = 1 << 20;      // bytes of stdout; one more ends the child
  std::size_t max_errors = 4096;         // bytes of stderr that are kept; the rest is read and dropped
};

// Finds a program as a shell does: the first executable file of this name in the folders of `path`, a value
// of PATH. Relative folders are skipped: a program of the working directory must not run in another's place.
// Returns an empty path if there is none.
std::string FindProgram(std::string_view name, std::string_view path);

enum class ProcessEnd {
  kExited,       // `code` is the exit code
  kSignalled,    // `code` is the signal, which was not ours
  kTimedOut,     // killed by us at the Call's deadline
  kCancelled,    // killed by us because a stop was requested
  kOutputLimit,  // killed by us because it wrote more than max_output
};

struct ProcessResult {
  ProcessEnd end = ProcessEnd::kExited;
  int code = 0;
  Secret output;  // all of stdout; empty unless it ended by itself. It may hold passwords
  std::string errors;
};

// Runs `command` with `input` and then end-of-file as its stdin. Any thread may call, many at once. Blocks
// until the child has ended; `call` ends it by SIGKILL to its whole process group. A child that ends early
// may leave input unread, and one that leaves a grandchild on its pipes is waited for a second longer: that
// is no failure. Processes that it leaves end once no other child runs, if this process is a subreaper or
// PID 1. The child gets default signals, an empty signal mask, a process group of its own and no file
// descriptor of ours. An Error (NotFound, PermissionDenied …) means that it could not be started.
Result<ProcessResult> RunProcess(const Call& call, const Command& command, std::string_view input);

// Returns why a process has failed: "exited 1". `timeout` tells of kTimedOut, and `said`, what the process
// itself says, follows the reason.
Error ProcessFailure(const ProcessResult& result, const std::string& timeout, const std::string& said);

// Orphans are processes that children leave behind. As PID 1 of its container this process inherits the
// processes that its children started, and is the only one that can reap them.
//
// Reaps every process that has ended and has no waiter, be it in a child's process group or in a session of
// its own. While no child has a waiter, it also kills what runs without one: a child that has ended has given
// its answer, and what it left behind would hold memory of this process's container for ever. If this process
// is not PID 1 (or a subreaper), it inherits nothing, and nothing happens. Never blocks.
void ReapOrphans();

}  // namespace prefetch::base
