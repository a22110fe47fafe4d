// Sockets on loopback, for servers and clients of tests that are no library's.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string_view>

#include "base/fs.h"

namespace prefetch::tests {

// 127.0.0.1:`port`; 0: a port that the kernel chooses.
inline sockaddr_in Loopback(int port = 0) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

// Listens on a port of 127.0.0.1 that the kernel chooses, and returns it.
inline std::uint16_t ListenOnLoopback(const base::Fd& socket, int backlog) {
  sockaddr_in address = Loopback();
  socklen_t length = sizeof address;
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
  EXPECT_EQ(::listen(socket.get(), backlog), 0);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

// Returns false if the other side is gone.
inline bool SendAll(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t n = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// Reads until the other side closes.
inline void AwaitClose(int fd) {
  char buffer[4096];
  while (::recv(fd, buffer, sizeof buffer, 0) > 0) {
  }
}

}  // namespace prefetch::tests
