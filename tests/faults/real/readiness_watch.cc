#include "faults/real/readiness_watch.h"

#include <utility>

#include "http/raw_socket.h"

namespace prefetch::tests::real_faults {
namespace {

constexpr std::chrono::milliseconds kBetweenQuestions{20};

// 0: none came.
int StatusOf(const std::string& socket) {
  RawClient client(socket);
  if (!client.connected() || !client.Send("GET /readyz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"))
    return 0;
  const std::string answer = client.ReadAll(2);
  constexpr std::size_t kStatus = 9;  // after "HTTP/1.1 "
  return answer.size() < kStatus + 3 ? 0 : std::atoi(answer.substr(kStatus, 3).c_str());
}

}  // namespace

ReadinessWatch::ReadinessWatch(std::string socket) : socket_(std::move(socket)) {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

bool ReadinessWatch::IsReady() {
  base::Lock lock(mutex_);
  return ready_;
}

std::optional<ReadinessWatch::TimePoint> ReadinessWatch::SaidReady() {
  base::Lock lock(mutex_);
  return said_ready_;
}

bool ReadinessWatch::TakeLoss() {
  base::Lock lock(mutex_);
  return std::exchange(lost_, false);
}

void ReadinessWatch::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const TimePoint asked = std::chrono::steady_clock::now();
    const int status = StatusOf(socket_);
    {
      base::Lock lock(mutex_);
      lost_ = lost_ || (ready_ && status != 200);
      ready_ = status == 200;
      if (ready_) said_ready_ = asked;
    }
    std::this_thread::sleep_until(asked + kBetweenQuestions);
  }
}

}  // namespace prefetch::tests::real_faults
