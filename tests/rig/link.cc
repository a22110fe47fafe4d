#include "rig/link.h"

#include <algorithm>
#include <limits>

namespace prefetch::rig {
namespace {

constexpr std::size_t kWidestWindow = 4 << 20;  // Linux: the end of net.ipv4.tcp_wmem

}  // namespace

void Bucket::SetRate(std::uint64_t bytes_per_second) {
  const auto rate = static_cast<double>(bytes_per_second);
  if (rate == rate_) return;
  rate_ = rate;
  tokens_ = 0;
  refilled_ = std::chrono::steady_clock::now();
}

void Bucket::Refill(std::chrono::steady_clock::time_point now) {
  tokens_ += std::chrono::duration<double>(now - refilled_).count() * rate_;
  tokens_ = std::min(tokens_, std::max(2.0, rate_ / 50));
  refilled_ = now;
}

bool Bucket::Open() const {
  return rate_ == 0 || tokens_ >= std::clamp(rate_ / 500, 1.0, 16384.0);
}

std::size_t Bucket::Allowed() const {
  if (rate_ == 0) return std::numeric_limits<std::size_t>::max();
  return static_cast<std::size_t>(std::max(0.0, tokens_));
}

void Window::Delivered(std::size_t bytes, TimePoint acknowledged) {
  under_way_.emplace_back(acknowledged, bytes);
}

void Window::Advance(TimePoint now) {
  while (!under_way_.empty() && under_way_.front().first <= now) {
    const std::size_t bytes = std::min(under_way_.front().second, in_flight_);
    in_flight_ -= bytes;
    size_ = std::min(size_ + bytes, kWidestWindow);
    under_way_.pop_front();
  }
}

Window::TimePoint Window::NextAcknowledgement() const {
  return under_way_.empty() ? TimePoint::max() : under_way_.front().first;
}

}  // namespace prefetch::rig
