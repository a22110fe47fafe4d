// HTTP by hand: a client and a server of plain sockets that do what no well-behaved library would.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "base/fs.h"
#include "loopback.h"

namespace prefetch::tests {

// One connection to a server on loopback, or to a socket file.
class RawClient {
 public:
  // `from`: an address of loopback.
  explicit RawClient(std::uint16_t port, const char* from = "127.0.0.1")
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    ::inet_pton(AF_INET, from, &own.sin_addr);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
    const sockaddr_in address = Loopback(port);
    connected_ = ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  explicit RawClient(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    connected_ = ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  bool connected() const { return connected_; }
  bool Send(std::string_view text) { return SendAll(fd_.get(), text); }
  void CloseSending() { ::shutdown(fd_.get(), SHUT_WR); }

  // The end will be a reset, not an orderly close.
  void ResetOnClose() {
    linger now{1, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }

  // Everything until the other side closes; at most `seconds`. "(timeout)" is appended if it did not.
  std::string ReadAll(int seconds = 5) {
    std::string text;
    while (Wait(seconds)) {
      char buffer[65536];
      ssize_t n = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      if (n <= 0) return text;
      text.append(buffer, static_cast<std::size_t>(n));
    }
    return text + "(timeout)";
  }
  // Until `end` has been read.
  std::string ReadUntil(std::string_view end, int seconds = 5) {
    std::string text;
    while (text.find(end) == std::string::npos && Wait(seconds)) {
      char buffer[4096];
      ssize_t n = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      if (n <= 0) break;
      text.append(buffer, static_cast<std::size_t>(n));
    }
    return text;
  }

 private:
  bool Wait(int seconds) {
    pollfd ready{fd_.get(), POLLIN, 0};
    return ::poll(&ready, 1, seconds * 1000) == 1;
  }
  base::Fd fd_;
  bool connected_ = false;
};

// Accepts on loopback and runs `script` for each connection, one after the other, on its own thread.
class ScriptedServer {
 public:
  // `script` gets the connected socket and how many came before; the socket is closed afterwards.
  using Script = std::function<void(int fd, int nth)>;

  explicit ScriptedServer(Script script) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    port_ = ListenOnLoopback(fd_, 128);
    thread_ = std::thread([this, script = std::move(script)] {
      while (true) {
        base::Fd client(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!client.valid()) return;
        script(client.get(), accepted_++);
      }
    });
  }
  ~ScriptedServer() {
    ::shutdown(fd_.get(), SHUT_RDWR);
    thread_.join();
  }

  int accepted() const { return accepted_; }
  std::uint16_t port() const { return port_; }
  std::string Url(std::string_view path = "/") const {
    return "http://127.0.0.1:" + std::to_string(port_) + std::string(path);
  }

  // Reads one request without a body; false once the client is gone.
  static bool ReadRequest(int fd, std::string* request = nullptr) {
    std::string text;
    while (text.find("\r\n\r\n") == std::string::npos) {
      char buffer[4096];
      ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
      if (n <= 0) return false;
      text.append(buffer, static_cast<std::size_t>(n));
    }
    if (request != nullptr) *request = text;
    return true;
  }
  static void Write(int fd, std::string_view text) { SendAll(fd, text); }
  // Until the client closes its side.
  static void WaitForClose(int fd) { AwaitClose(fd); }

 private:
  base::Fd fd_;
  std::uint16_t port_ = 0;
  std::atomic<int> accepted_{0};
  std::thread thread_;
};

}  // namespace prefetch::tests
