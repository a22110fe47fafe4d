#include "cri/call_timers.h"

#include <absl/synchronization/mutex.h>
#include <grpc/grpc.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>

#include "base/mutex.h"
#include "cri/event_engine.h"

// gRPC's own switch and check (src/core/lib/iomgr/timer_manager.h). It installs no header for them; weak, so
// that a gRPC without them links too.
__attribute__((weak)) void grpc_timer_manager_set_threading(bool enabled);
__attribute__((weak)) void grpc_timer_manager_tick();

namespace prefetch::cri {
namespace {

constexpr std::chrono::milliseconds kCheckEvery{100};

// Checks gRPC's timers while calls are under way. Lives as long as the process.
class Checker {
 public:
  Checker() : thread_([this] { Loop(); }) { thread_.detach(); }

  void Begin() {
    base::Lock lock(mutex_);
    // The thread sleeps only while no call is under way, so only the first call has to wake it.
    if (calls_++ == 0) changed_.notify_one();
  }
  void End() {
    base::Lock lock(mutex_);
    calls_--;
  }

 private:
  [[noreturn]] void Loop() {
    for (;;) {
      {
        base::Lock lock(mutex_);
        while (calls_ == 0) changed_.wait(mutex_);
      }
      // The lock is not held here, so calls that begin or end never wait for a check.
      std::this_thread::sleep_for(kCheckEvery);
      grpc_timer_manager_tick();
    }
  }

  base::Mutex mutex_;
  base::Condition changed_;
  std::size_t calls_ PREFETCH_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

// Debian builds Abseil with its search for lock cycles, which notes the stack at each lock that gRPC takes:
// 13 % of the agent's CPU while it pulls.
void SearchNoLockCycles() {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

// Null if gRPC checks its timers itself.
Checker* Initialize() {
  SearchNoLockCycles();
  grpc_event_engine::experimental::SetEventEngineFactory([] { return std::make_unique<TimerEngine>(); });
  grpc_init();
  if (grpc_timer_manager_set_threading == nullptr || grpc_timer_manager_tick == nullptr) return nullptr;
  grpc_timer_manager_set_threading(false);
  return new Checker;
}

Checker* TheChecker() {
  static Checker* const checker = Initialize();
  return checker;
}

}  // namespace

void InitializeGrpc() {
  (void)TheChecker();
}

CallUnderWay::CallUnderWay(base::TimePoint deadline)
    : counted_(deadline != base::TimePoint::max() && TheChecker() != nullptr) {
  if (counted_) TheChecker()->Begin();
}

CallUnderWay::~CallUnderWay() {
  if (counted_) TheChecker()->End();
}

}  // namespace prefetch::cri
