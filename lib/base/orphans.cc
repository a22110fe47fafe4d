#include "base/orphans.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/fs.h"
#include "base/mutex.h"
#include "base/text.h"

namespace prefetch::base {
namespace {

constexpr std::size_t kMostThreads = 4096;
constexpr std::size_t kLongestFile = 1 << 20;
constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 2'000'000};

Mutex mutex;
std::set<pid_t> waited_for PREFETCH_GUARDED_BY(mutex);
// Starts under way. The ids of their children are not in the table yet, so meanwhile the owner of a child is
// unknown, and nothing is reaped.
int starting PREFETCH_GUARDED_BY(mutex) = 0;
// Children from before the first start: of a shell that became this process by `exec`. nullopt: none started.
std::optional<std::set<pid_t>> not_ours PREFETCH_GUARDED_BY(mutex);

bool Inherits() {
  int is_subreaper = 0;
  return ::getpid() == 1 || (::prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0 && is_subreaper != 0);
}

// waitid(2) that never blocks. `si_pid` is 0 if none has ended, or there is none.
siginfo_t Ended(idtype_t type, pid_t id, int options) {
  siginfo_t info{};
  while (::waitid(type, static_cast<id_t>(id), &info, options | WEXITED | WNOHANG) != 0) {
    if (errno != EINTR) return {};
  }
  return info;
}

// Returns the children of every thread, since any thread may have inherited some.
std::set<pid_t> Children() {
  std::set<pid_t> children;
  const std::string tasks = "/proc/self/task";
  auto threads = ListDirectory(tasks, kMostThreads);
  if (!threads) return children;
  for (const std::string& thread : *threads) {
    auto text = ReadFile(tasks + "/" + thread + "/children", kLongestFile);
    if (!text) continue;
    for (std::string_view word : Split(*text, ' ')) {
      if (auto pid = ParseUint(word)) children.insert(static_cast<pid_t>(*pid));
    }
  }
  return children;
}

// Reaps the orphans that have ended. A child with a waiter may hide the others, since waitid(2) always shows
// the same one first. ReapChild calls Reap again once that child is gone.
void Reap() PREFETCH_REQUIRES(mutex) {
  while (starting == 0) {
    // WNOWAIT: the child is only looked at, and reaped if it has no waiter.
    const pid_t first = Ended(P_ALL, 0, WNOWAIT).si_pid;
    if (first == 0 || waited_for.count(first) != 0) return;
    Ended(P_PID, first, 0);
    if (not_ours) not_ours->erase(first);
  }
}

bool IsGone(pid_t group) PREFETCH_REQUIRES(mutex) {
  // The group's number may be that of a child that is just starting.
  if (starting != 0) return false;
  // The number is free only once the last member is reaped. Then it may be a new child's.
  if (waited_for.count(group) != 0) return true;
  while (true) {
    siginfo_t info{};
    if (::waitid(P_PGID, static_cast<id_t>(group), &info, WEXITED | WNOHANG) != 0) return errno == ECHILD;
    if (info.si_pid == 0) return false;
  }
}

// Kills every orphan if no child has a waiter: while one has, an orphan may be its helper. Children without a
// waiter keep their ids until this process reaps them, which the lock prevents, so no other process can be
// hit. Returns true if some were left.
bool KillUnowned() PREFETCH_REQUIRES(mutex) {
  if (starting != 0 || !waited_for.empty() || !not_ours) return false;
  bool left = false;
  for (pid_t orphan : Children()) {
    if (!not_ours->contains(orphan)) left = ::kill(orphan, SIGKILL) == 0 || left;
  }
  return left;
}

}  // namespace

void ReapOrphans() {
  if (!Inherits()) return;
  Lock lock(mutex);
  Reap();
  KillUnowned();
}

// Spawns without the lock, since a start waits for the disk that has the program.
int StartChild(const std::function<int(pid_t& child)>& spawn, pid_t& child) {
  {
    Lock lock(mutex);
    if (!not_ours) not_ours = Children();
    starting++;
  }
  const int error = spawn(child);
  {
    Lock lock(mutex);
    starting--;
    if (error == 0) waited_for.insert(child);
  }
  ReapOrphans();  // those that ended meanwhile
  return error;
}

siginfo_t ReapChild(pid_t child) {
  siginfo_t info{};
  {
    // Together: a reaped child's id may be the next one's.
    Lock lock(mutex);
    info = Ended(P_PID, child, 0);
    waited_for.erase(child);
  }
  ReapOrphans();
  return info;
}

void ReapKilledGroup(pid_t group, TimePoint limit) {
  if (!Inherits()) return;
  while (std::chrono::steady_clock::now() < limit) {
    {
      Lock lock(mutex);
      Reap();
      if (IsGone(group) && !KillUnowned()) return;
    }
    ::nanosleep(&kPause, nullptr);
  }
}

}  // namespace prefetch::base
