#include "agent/cluster/periodic_thread.h"

#include <utility>

namespace prefetch::agent {

PeriodicThread::PeriodicThread(std::function<base::TimePoint(const base::Call&)> turn)
    : wakes_(std::make_shared<base::Channel<Awake>>()),
      thread_([turn = std::move(turn), wakes = wakes_](const std::stop_token& stop) {
        while (!stop.stop_requested()) wakes->PopUntil(turn(base::Call{.stop = stop}));
      }) {}

std::function<void()> PeriodicThread::Waker() const {
  return [wakes = wakes_] { wakes->Push({}); };
}

PeriodicThread::~PeriodicThread() {
  thread_.request_stop();
  wakes_->Push({});
  thread_.join();
}

}  // namespace prefetch::agent
