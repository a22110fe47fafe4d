// ReadinessPoller: asks an agent for /readyz every 50 ms, as an impatient load balancer would, and keeps
// count.
#pragma once

#include <atomic>
#include <string>
#include <thread>

namespace prefetch::system {

// Asks from its start to Stop(), on a thread of its own; each question on a connection of its own.
class ReadinessPoller {
 public:
  // `socket`: the agent's local one.
  explicit ReadinessPoller(std::string socket);
  ~ReadinessPoller() { Stop(); }
  ReadinessPoller(const ReadinessPoller&) = delete;
  ReadinessPoller& operator=(const ReadinessPoller&) = delete;

  struct Counts {
    int ready = 0;       // 200
    int unready = 0;     // 503
    int unanswered = 0;  // anything else, silence for five seconds included
  };
  Counts Stop();

 private:
  void Poll();

  const std::string socket_;
  std::atomic<bool> stop_{false};
  Counts counts_;  // of the thread, until it is joined
  std::thread thread_;
};

}  // namespace prefetch::system
