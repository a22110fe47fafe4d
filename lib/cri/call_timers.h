// CallTimers: gRPC's timers (deadlines of calls, limits of connection attempts) are checked only while a call
// with a deadline is under way. By itself, gRPC 1.51 wakes its timer threads each second, which is half of an
// idle agent's CPU. Internal to cri.
#pragma once

#include "base/clock.h"

namespace prefetch::cri {

// Initializes gRPC for the process, for good: with the TimerEngine of cri/event_engine.h and without timer
// threads of its own. Before any channel; any thread, any number of times. A gRPC that has no such switch
// keeps its threads.
void InitializeGrpc();

// A call with a deadline exists as long as this does: gRPC keeps the deadline to within 100 ms then.
class [[nodiscard]] CallUnderWay {
 public:
  // The end of time: the call has no deadline, so nothing is checked for it.
  explicit CallUnderWay(base::TimePoint deadline);
  CallUnderWay(CallUnderWay&& other) noexcept : counted_(other.counted_) { other.counted_ = false; }
  CallUnderWay& operator=(CallUnderWay&&) = delete;
  ~CallUnderWay();

 private:
  bool counted_;
};

}  // namespace prefetch::cri
