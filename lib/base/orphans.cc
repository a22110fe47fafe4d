#include "base/orphans.h"

#include <sys/wait.h>

#include <cerrno>
#include <ctime>
#include <set>

#include "base/mutex.h"

namespace prefetch::base {
namespace {

constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 2'000'000};

enum class Left { kNobody, kSomebody };

// waitid(2) of a group never returns a child of another RunProcess: each child leads a group of its own.
Left ReapEnded(pid_t group) {
  while (true) {
    siginfo_t info{};
    int result = ::waitid(P_PGID, static_cast<id_t>(group), &info, WEXITED | WNOHANG);
    if (result != 0 && errno == EINTR) continue;
    if (result != 0) return Left::kNobody;  // ECHILD
    if (info.si_pid == 0) return Left::kSomebody;
  }
}

Mutex left_mutex;
std::set<pid_t> left_groups PREFETCH_GUARDED_BY(left_mutex);

}  // namespace

void ReapOrphans(pid_t group, bool killed, TimePoint limit) {
  Left left = ReapEnded(group);
  while (killed && left == Left::kSomebody && std::chrono::steady_clock::now() < limit) {
    ::nanosleep(&kPause, nullptr);
    left = ReapEnded(group);
  }
  Lock lock(left_mutex);
  if (left == Left::kSomebody) left_groups.insert(group);
  std::erase_if(left_groups, [](pid_t other) { return ReapEnded(other) == Left::kNobody; });
}

}  // namespace prefetch::base
