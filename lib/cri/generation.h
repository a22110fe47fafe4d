// Generation: counts the signs that another daemon may be at the other end of a runtime's socket. Then ask
// again for all facts about the previous one (version, settings, capabilities).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace prefetch::cri {

// Any thread, no lock. One sign may count twice; none is lost.
class Generation {
 public:
  explicit Generation(std::string socket_path) : socket_path_(std::move(socket_path)) {}

  // A call broke off, or a connection had to be made anew.
  void Raise() { count_++; }
  // Equal to an earlier answer: nothing has shown that it is another daemon. Looks at the socket's file: a
  // starting daemon creates it anew, unless systemd holds it (socket activation).
  std::uint64_t Now();

 private:
  const std::string socket_path_;
  std::atomic<std::uint64_t> socket_{0};  // tells socket files apart; 0: none was seen
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace prefetch::cri
