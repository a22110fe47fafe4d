#include "cri/call_timers.h"

#include <absl/synchronization/mutex.h>
#include <grpc/grpc.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <thread>
#include <utility>

#include "base/mutex.h"

// gRPC's own switch and check (src/core/lib/iomgr/timer_manager.h). It installs no header for them; weak, so
// that a gRPC without them links too.
__attribute__((weak)) void grpc_timer_manager_set_threading(bool enabled);
__attribute__((weak)) void grpc_timer_manager_tick();

namespace prefetch::cri {
namespace {

constexpr std::chrono::milliseconds kCheckInterval{100};

// Checks gRPC's timers while calls are under way. Lives as long as the process.
class TimerChecker {
 public:
  TimerChecker() : thread_([this] { Loop(); }) { thread_.detach(); }

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
      std::this_thread::sleep_for(kCheckInterval);
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
TimerChecker* Initialize() {
  SearchNoLockCycles();
  grpc_event_engine::experimental::SetEventEngineFactory([] { return std::make_unique<TimerEngine>(); });
  grpc_init();
  if (grpc_timer_manager_set_threading == nullptr || grpc_timer_manager_tick == nullptr) return nullptr;
  grpc_timer_manager_set_threading(false);
  return new TimerChecker;
}

TimerChecker* GlobalTimerChecker() {
  static TimerChecker* const checker = Initialize();
  return checker;
}

}  // namespace

void InitializeGrpc() {
  (void)GlobalTimerChecker();
}

TimedCall::TimedCall(base::TimePoint deadline)
    : counted_(deadline != base::TimePoint::max() && GlobalTimerChecker() != nullptr) {
  if (counted_) GlobalTimerChecker()->Begin();
}

TimedCall::~TimedCall() {
  if (counted_) GlobalTimerChecker()->End();
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::hours kLongest{24 * 365};  // keeps sums of times in range

}  // namespace

struct TimerEngine::State {
  // Time and number. The number makes keys unique, and lets closures of one moment run in the order of their
  // calls.
  using Key = std::pair<Clock::time_point, std::intptr_t>;

  base::Mutex mutex;
  base::Condition changed;
  std::map<Key, absl::AnyInvocable<void()>> due PREFETCH_GUARDED_BY(mutex);
  std::intptr_t last_number PREFETCH_GUARDED_BY(mutex) = 0;
  bool stopping PREFETCH_GUARDED_BY(mutex) = false;
  std::thread thread PREFETCH_GUARDED_BY(mutex);

  TaskHandle Add(const std::shared_ptr<State>& self, Duration when, absl::AnyInvocable<void()> closure);
  bool Remove(TaskHandle handle);
  void Loop();
};

TimerEngine::TaskHandle TimerEngine::State::Add(const std::shared_ptr<State>& self, Duration when,
                                                absl::AnyInvocable<void()> closure) {
  const Duration wait = std::min<Duration>(when, kLongest);
  base::Lock lock(mutex);
  const Key key{Clock::now() + wait, ++last_number};
  due.emplace(key, std::move(closure));
  // The first closure starts the thread, so an engine that is never used has none.
  if (!thread.joinable()) thread = std::thread([self] { self->Loop(); });
  // The thread sleeps until the earliest closure. Only a new earliest one changes that.
  if (due.begin()->first == key) changed.notify_one();
  return {{static_cast<std::intptr_t>(key.first.time_since_epoch().count()), key.second}};
}

bool TimerEngine::State::Remove(TaskHandle handle) {
  absl::AnyInvocable<void()> removed;  // destroyed without the lock: it may own what calls again
  base::Lock lock(mutex);
  auto found = due.find({Clock::time_point(Clock::duration(handle.keys[0])), handle.keys[1]});
  if (found == due.end()) return false;
  removed = std::move(found->second);
  due.erase(found);
  return true;
}

// Runs due closures one at a time. They run without the lock, since a closure may add or cancel other ones.
void TimerEngine::State::Loop() {
  for (;;) {
    absl::AnyInvocable<void()> closure;
    {
      base::Lock lock(mutex);
      while (!stopping && (due.empty() || due.begin()->first.first > Clock::now())) {
        if (due.empty()) {
          changed.wait(mutex);
        } else {
          const Clock::time_point next = due.begin()->first.first;
          changed.wait_until(mutex, next);
        }
      }
      if (stopping) return;
      closure = std::move(due.begin()->second);
      due.erase(due.begin());
    }
    closure();
  }
}

TimerEngine::TimerEngine() : state_(std::make_shared<State>()) {}

TimerEngine::~TimerEngine() {
  std::map<State::Key, absl::AnyInvocable<void()>> left;
  std::thread thread;
  {
    base::Lock lock(state_->mutex);
    state_->stopping = true;
    // Closures are destroyed without the lock: one of them may own an object that calls the engine.
    left.swap(state_->due);
    thread.swap(state_->thread);
    state_->changed.notify_one();
  }
  if (!thread.joinable()) return;
  if (thread.get_id() == std::this_thread::get_id()) {
    thread.detach();  // its closure held the last reference to the engine
  } else {
    thread.join();
  }
}

void TimerEngine::Run(Closure* closure) {
  RunAfter(Duration::zero(), closure);
}

void TimerEngine::Run(absl::AnyInvocable<void()> closure) {
  RunAfter(Duration::zero(), std::move(closure));
}

TimerEngine::TaskHandle TimerEngine::RunAfter(Duration when, Closure* closure) {
  return RunAfter(when, [closure] { closure->Run(); });
}

TimerEngine::TaskHandle TimerEngine::RunAfter(Duration when, absl::AnyInvocable<void()> closure) {
  return state_->Add(state_, when, std::move(closure));
}

bool TimerEngine::Cancel(TaskHandle handle) {
  return state_->Remove(handle);
}

bool TimerEngine::IsWorkerThread() {
  base::Lock lock(state_->mutex);
  return state_->thread.get_id() == std::this_thread::get_id();
}

// The functions from here on are of the interface, and offer no network. They fail in the way that each of
// them may, rather than abort.
absl::StatusOr<std::unique_ptr<TimerEngine::Listener>> TimerEngine::CreateListener(
    Listener::AcceptCallback, absl::AnyInvocable<void(absl::Status)>,
    const grpc_event_engine::experimental::EndpointConfig&,
    std::unique_ptr<grpc_event_engine::experimental::MemoryAllocatorFactory>) {
  return absl::UnimplementedError("this event engine only runs closures");
}

TimerEngine::ConnectionHandle TimerEngine::Connect(OnConnectCallback on_connect, const ResolvedAddress&,
                                                   const grpc_event_engine::experimental::EndpointConfig&,
                                                   grpc_event_engine::experimental::MemoryAllocator,
                                                   Duration) {
  Run([on_connect = std::move(on_connect)]() mutable {
    on_connect(absl::UnimplementedError("this event engine only runs closures"));
  });
  return {{-1, -1}};
}

bool TimerEngine::CancelConnect(ConnectionHandle) {
  return false;
}

std::unique_ptr<TimerEngine::DNSResolver> TimerEngine::GetDNSResolver(const DNSResolver::ResolverOptions&) {
  return nullptr;
}

}  // namespace prefetch::cri
