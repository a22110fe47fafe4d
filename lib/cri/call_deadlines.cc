#include "cri/call_deadlines.h"

#include <absl/synchronization/mutex.h>

#include <cstdlib>
#include <thread>

#include "base/exit_code.h"
#include "base/log.h"
#include "base/mutex.h"

namespace prefetch::cri {
namespace {

// Checks the deadlines of all calls. Lives as long as the process.
class Watch {
 public:
  Watch() : thread_([this] { Loop(); }) { thread_.detach(); }

  CallDeadlines::Handle Begin(base::TimePoint deadline) {
    base::Lock lock(mutex_);
    // The thread sleeps for good only while there is no call, so only the first one has to wake it.
    if (calls_.empty()) changed_.notify_one();
    return calls_.Begin(deadline);
  }
  void End(CallDeadlines::Handle call) {
    base::Lock lock(mutex_);
    calls_.End(call);
  }

 private:
  [[noreturn]] void Loop() {
    for (;;) {
      std::this_thread::sleep_for(CallDeadlines::kInterval);
      base::Lock lock(mutex_);
      while (calls_.empty()) changed_.wait(mutex_);
      if (!calls_.AreBroken(std::chrono::steady_clock::now())) continue;
      base::Err("calls to the runtime hang, prefetchd ends");
      // Without destructors: they would wait for the calls.
      std::_Exit(base::kUnreachable);
    }
  }

  base::Mutex mutex_;
  base::Condition changed_;
  CallDeadlines calls_ PREFETCH_GUARDED_BY(mutex_);
  std::thread thread_;
};

Watch& GlobalWatch() {
  static Watch* const watch = new Watch;
  return *watch;
}

}  // namespace

void InitializeGrpc() {
  // Debian builds Abseil with its search for lock cycles, which notes the stack at each lock that gRPC takes:
  // 13 % of the agent's CPU while it pulls.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

void CallDeadlines::End(Handle call) {
  if (overdue_ == call) overdue_.reset();
  deadlines_.erase(call);
}

bool CallDeadlines::AreBroken(base::TimePoint now) {
  const auto earliest = deadlines_.begin();
  if (earliest == deadlines_.end() || *earliest > now) return false;
  // A call that is overdue for longer stays the earliest one, unless another began with an earlier deadline.
  return std::exchange(overdue_, earliest) == earliest;
}

TimedCall::TimedCall(base::TimePoint deadline) {
  if (deadline != base::TimePoint::max()) call_ = GlobalWatch().Begin(deadline);
}

TimedCall::~TimedCall() {
  if (call_) GlobalWatch().End(*call_);
}

}  // namespace prefetch::cri
