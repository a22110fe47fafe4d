// InitializeGrpc and TimedCall: gRPC's timers (deadlines of calls, limits of connection attempts) are checked
// only while a call with a deadline is under way. By itself, gRPC 1.51 wakes its timer threads each second,
// which is half of an idle agent's CPU.
// TimerEngine: gRPC's event engine, reduced to closures and timers.
// Internal to cri.
#pragma once

#include <grpc/event_engine/event_engine.h>

#include <memory>

#include "base/clock.h"

namespace prefetch::cri {

// Initializes gRPC for the process, for good: with TimerEngine and without timer
// threads of its own. Before any channel; any thread, any number of times. A gRPC that has no such switch
// keeps its threads.
void InitializeGrpc();

// A call with a deadline exists as long as this does: gRPC keeps the deadline to within 100 ms then.
class [[nodiscard]] TimedCall {
 public:
  // Counts a call. With TimePoint::max() it has no deadline, so no timers are checked for it.
  explicit TimedCall(base::TimePoint deadline);
  TimedCall(TimedCall&& other) noexcept : counted_(other.counted_) { other.counted_ = false; }
  TimedCall& operator=(TimedCall&&) = delete;
  ~TimedCall();

 private:
  bool counted_;
};

// gRPC's event engine, reduced to the calls that gRPC 1.51 makes on a unix socket: it runs closures, at once
// or after a delay. gRPC's own engine wakes a thread once a second, whether or not anything is due.
//
// Any thread may call. One thread runs all closures, in order of their time; it starts with the first of them
// and ends with the engine. Closures of gRPC do not block. Closures that are left when the engine ends are
// destroyed, not run. gRPC still opens its sockets itself: connecting, listening and DNS by the engine are
// refused.
class TimerEngine final : public grpc_event_engine::experimental::EventEngine {
 public:
  TimerEngine();
  ~TimerEngine() override;

  void Run(Closure* closure) override;
  void Run(absl::AnyInvocable<void()> closure) override;
  TaskHandle RunAfter(Duration when, Closure* closure) override;
  TaskHandle RunAfter(Duration when, absl::AnyInvocable<void()> closure) override;
  bool Cancel(TaskHandle handle) override;
  bool IsWorkerThread() override;

  absl::StatusOr<std::unique_ptr<Listener>> CreateListener(
      Listener::AcceptCallback on_accept, absl::AnyInvocable<void(absl::Status)> on_shutdown,
      const grpc_event_engine::experimental::EndpointConfig& config,
      std::unique_ptr<grpc_event_engine::experimental::MemoryAllocatorFactory> memory) override;
  ConnectionHandle Connect(OnConnectCallback on_connect, const ResolvedAddress& address,
                           const grpc_event_engine::experimental::EndpointConfig& config,
                           grpc_event_engine::experimental::MemoryAllocator memory,
                           Duration timeout) override;
  bool CancelConnect(ConnectionHandle handle) override;
  std::unique_ptr<DNSResolver> GetDNSResolver(const DNSResolver::ResolverOptions& options) override;

 private:
  struct State;

  // Shared with the thread, which may be the one that drops the engine.
  std::shared_ptr<State> state_;
};

}  // namespace prefetch::cri
