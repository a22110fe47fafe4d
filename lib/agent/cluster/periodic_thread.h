// PeriodicThread: a thread that calls a function again and again, each time when the last call said.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/call.h"
#include "base/channel.h"
#include "base/clock.h"

namespace prefetch::agent {

// For parts beside the loop that wait for other servers (NodeGate, KubeletClient). One owner.
class PeriodicThread {
 public:
  // `turn` is called at once, on the new thread; its Call is stopped with this, and it gives the time of its
  // next call, on base::SystemClock. Everything that it uses must outlive this.
  explicit PeriodicThread(std::function<base::TimePoint(const base::Call& call)> turn)
      : thread_([turn = std::move(turn), wakes = wakes_](const std::stop_token& stop) {
          while (!stop.stop_requested()) wakes->PopUntil(turn(base::Call{.stop = stop}));
        }) {}
  // Stops, and waits for the call under way.
  ~PeriodicThread() {
    thread_.request_stop();
    wakes_->Push({});
    thread_.join();
  }
  PeriodicThread(const PeriodicThread&) = delete;
  PeriodicThread& operator=(const PeriodicThread&) = delete;

  // Makes the next call due now. Any thread may call it, also when this is gone.
  std::function<void()> Waker() const {
    return [wakes = wakes_] { wakes->Push({}); };
  }

 private:
  struct Awake {};

  const std::shared_ptr<base::Channel<Awake>> wakes_ = std::make_shared<base::Channel<Awake>>();
  std::jthread thread_;
};

}  // namespace prefetch::agent
