// PeriodicThread: a thread that calls a function again and again, each time when the last call said.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "base/call.h"
#include "base/channel.h"
#include "base/clock.h"

namespace prefetch::agent {

// For parts beside the loop that wait for other servers (NodeGate, KubeletClient). One owner.
class PeriodicThread {
 public:
  // `turn` is called at once, on the new thread; its Call is stopped with this, and it gives the time of its
  // next call, on base::SystemClock. Everything that it uses must outlive this.
  explicit PeriodicThread(std::function<base::TimePoint(const base::Call& call)> turn);
  ~PeriodicThread();  // stops, and waits for the call under way
  // Makes the next call due now. Any thread may call it, also when this is gone.
  std::function<void()> Waker() const;
  PeriodicThread(const PeriodicThread&) = delete;
  PeriodicThread& operator=(const PeriodicThread&) = delete;

 private:
  struct Awake {};

  const std::shared_ptr<base::Channel<Awake>> wakes_;
  std::jthread thread_;
};

}  // namespace prefetch::agent
