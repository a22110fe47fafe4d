#include "system/readiness_poller.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/fs.h"

namespace prefetch::system {
namespace {

constexpr std::chrono::milliseconds kPause{50};
constexpr std::string_view kQuestion = "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

// The first bytes of the answer, enough for its status.
std::string Ask(const std::string& socket) {
  base::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket.data(), std::min(socket.size(), sizeof address.sun_path - 1));
  timeval limit{.tv_sec = 5, .tv_usec = 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return "";
  if (::send(fd.get(), kQuestion.data(), kQuestion.size(), MSG_NOSIGNAL) < 0) return "";
  char answer[64];
  auto size = ::recv(fd.get(), answer, sizeof answer, MSG_WAITALL);
  return size > 0 ? std::string(answer, static_cast<std::size_t>(size)) : "";
}

}  // namespace

ReadinessPoller::ReadinessPoller(std::string socket)
    : socket_(std::move(socket)), thread_([this] { Poll(); }) {}

ReadinessPoller::Counts ReadinessPoller::Stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  return counts_;
}

void ReadinessPoller::Poll() {
  for (auto next = std::chrono::steady_clock::now(); !stop_; next += kPause) {
    std::this_thread::sleep_until(next);
    std::string answer = Ask(socket_);
    if (answer.starts_with("HTTP/1.1 200")) {
      counts_.ready++;
    } else if (answer.starts_with("HTTP/1.1 503")) {
      counts_.unready++;
    } else {
      counts_.unanswered++;
    }
  }
}

}  // namespace prefetch::system
