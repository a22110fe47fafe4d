// TimedCall and CallDeadlines: the agent exits if gRPC no longer ends calls at their deadlines.
// gRPC 1.51 does not notice that it could not start a thread of its own, because the process or its container
// had no memory or no thread left. It then gives work to a thread that does not exist, and from then on calls
// hang, whatever their deadline. Only another process helps: it keeps the bytes of all pulls (leases).
// Internal to cri.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"

namespace prefetch::cri {

// Sets gRPC up for the process. Call it before the first channel is made; any thread, any number of times.
void InitializeGrpc();

// Deadlines of the calls that are under way. Not thread-safe.
class CallDeadlines {
 public:
  using Handle = std::multiset<base::TimePoint>::iterator;

  Handle Begin(base::TimePoint deadline) { return deadlines_.insert(deadline); }
  void End(Handle call);
  bool empty() const { return deadlines_.empty(); }

  // Call it each kInterval while there are calls. Returns true if one call was overdue at this check and at
  // the one before. One check is not enough: a process that was stopped (SIGSTOP) finds all calls overdue
  // when it goes on, before gRPC can end them.
  bool AreBroken(base::TimePoint now);
  static constexpr std::chrono::seconds kInterval{10};

 private:
  std::multiset<base::TimePoint> deadlines_;
  std::optional<Handle> overdue_;  // the earliest deadline, if it had passed at the last check
};

// Exists as long as one call with a deadline is under way. Any thread.
class [[nodiscard]] TimedCall {
 public:
  // TimePoint::max(): the call has no deadline, and is not watched.
  explicit TimedCall(base::TimePoint deadline);
  TimedCall(TimedCall&& other) noexcept : call_(std::exchange(other.call_, std::nullopt)) {}
  TimedCall& operator=(TimedCall&&) = delete;
  ~TimedCall();

 private:
  std::optional<CallDeadlines::Handle> call_;
};

}  // namespace prefetch::cri
