#include "sim/uplink.h"

#include <algorithm>
#include <chrono>

namespace prefetch::sim {

double Uplink::RateOfEach() const {
  if (rate_ <= 0 || ends_.empty()) return rate_of_one_;
  return std::min(rate_of_one_, rate_ / static_cast<double>(ends_.size()));
}

void Uplink::MoveTo(base::TimePoint now) {
  if (ends_.empty()) each_ = 0;
  each_ += RateOfEach() * std::chrono::duration<double>(now - moved_to_).count();
  moved_to_ = now;
}

void Uplink::Begin(const Transfer& transfer, double bytes, base::TimePoint now) {
  MoveTo(now);
  ends_.push({each_ + bytes, transfer});
  bytes_ += bytes;
  most_ = std::max(most_, RateOfEach() * static_cast<double>(ends_.size()));
}

std::optional<base::TimePoint> Uplink::NextEnd() const {
  if (ends_.empty()) return std::nullopt;
  const std::chrono::duration<double> left(std::max(0.0, ends_.top().at - each_) / RateOfEach());
  return moved_to_ + std::chrono::duration_cast<base::Duration>(left);
}

Uplink::Transfer Uplink::End() {
  MoveTo(*NextEnd());
  const Transfer transfer = ends_.top().transfer;
  ends_.pop();
  return transfer;
}

}  // namespace prefetch::sim
