// A network link as the proxy imitates it: rates, latency, and the slow start of TCP connections.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace prefetch::rig {

struct Link {
  std::uint64_t bytes_per_second = 0;             // to all clients together; 0: no limit
  std::uint64_t connection_bytes_per_second = 0;  // to one client; 0: no limit
  std::chrono::milliseconds one_way{0};           // a round trip is twice this
  // A connection costs a round trip before its first request. Its window towards the client begins at ten
  // segments (RFC 6928) and doubles each round trip up to 4 MB, and nothing is ever lost.
  bool slow_start = false;
  // Requests that come faster are answered with 429; 0: no limit.
  double requests_per_second = 0;
  double request_burst = 0;  // requests that may come at once, after a pause
};

// Bytes that may pass now, at a rate. One thread.
class Bucket {
 public:
  void SetRate(std::uint64_t bytes_per_second);
  void Refill(std::chrono::steady_clock::time_point now);
  // Enough for a send that is worth its while: 2 ms of the rate.
  bool Open() const;
  std::size_t Allowed() const;
  void Take(std::size_t bytes) { tokens_ -= static_cast<double>(bytes); }

 private:
  double rate_ = 0;  // 0: everything may pass
  double tokens_ = 0;
  std::chrono::steady_clock::time_point refilled_ = std::chrono::steady_clock::now();
};

// A sender's congestion window that only ever grows. One thread.
class Window {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // How much may be sent now.
  std::size_t Room() const { return in_flight_ < size_ ? size_ - in_flight_ : 0; }
  void Sent(std::size_t bytes) { in_flight_ += bytes; }
  // The client has them; the sender learns of it at `acknowledged`.
  void Delivered(std::size_t bytes, TimePoint acknowledged);
  // Counts the acknowledgements that have arrived by `now`.
  void Advance(TimePoint now);
  // TimePoint::max() if there is none under way.
  TimePoint NextAcknowledgement() const;

 private:
  std::size_t size_ = std::size_t{10} * 1460;
  std::size_t in_flight_ = 0;
  std::deque<std::pair<TimePoint, std::size_t>> under_way_;
};

}  // namespace prefetch::rig
