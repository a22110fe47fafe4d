// ReadinessWatch: asks the agent every 20 ms whether it is ready, on a thread of its own, so that nothing
// that happens to the node meanwhile is missed.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.h"

namespace prefetch::tests::real_faults {

class ReadinessWatch {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // `socket`: the agent's; it need not exist all the time.
  explicit ReadinessWatch(std::string socket);
  ReadinessWatch(const ReadinessWatch&) = delete;
  ReadinessWatch& operator=(const ReadinessWatch&) = delete;

  // The newest answer; no answer is none.
  bool IsReady() PREFETCH_EXCLUDES(mutex_);
  // When it said so last, as of the question.
  std::optional<TimePoint> SaidReady() PREFETCH_EXCLUDES(mutex_);
  // It has said that it is ready, and then that it is not, since the last call.
  bool TakeLoss() PREFETCH_EXCLUDES(mutex_);

 private:
  void Run(const std::stop_token& stop) PREFETCH_EXCLUDES(mutex_);

  const std::string socket_;
  base::Mutex mutex_;
  bool ready_ PREFETCH_GUARDED_BY(mutex_) = false;
  bool lost_ PREFETCH_GUARDED_BY(mutex_) = false;
  std::optional<TimePoint> said_ready_ PREFETCH_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace prefetch::tests::real_faults
