#include "registry/throttle.h"

#include <algorithm>

namespace prefetch::registry {
namespace {

constexpr std::size_t kMaxLanes = 512;  // then those that nobody is in are forgotten

}  // namespace

Throttle::Lane& Throttle::LaneOf(const std::string& host, base::TimePoint now) {
  auto found = lanes_.find(host);
  if (found != lanes_.end()) return found->second;
  if (lanes_.size() >= kMaxLanes) {
    std::erase_if(lanes_, [](const auto& entry) { return entry.second.inside == 0; });
  }
  return lanes_.emplace(host, Lane{.inside = 0, .allowance = limits_.burst, .counted_at = now}).first->second;
}

base::TimePoint Throttle::Opens(const std::string& host, Lane& lane, base::TimePoint now) {
  int most = host.empty() ? limits_.checks : limits_.requests_per_host;
  if (lane.inside >= most) return base::TimePoint::max();
  if (host.empty() || limits_.per_second <= 0) return now;
  double passed = std::chrono::duration<double>(now - lane.counted_at).count();
  lane.allowance = std::min(limits_.burst, lane.allowance + passed * limits_.per_second);
  lane.counted_at = now;
  if (lane.allowance >= 1) return now;
  return now + std::chrono::ceil<base::Duration>(
                   std::chrono::duration<double>((1 - lane.allowance) / limits_.per_second));
}

Throttle::Pass Throttle::Enter(const base::Call& call, const std::string& host) {
  // Under the lock, so that a stop cannot slip in between the look at it and the wait.
  std::stop_callback wake(call.stop, [this] {
    base::Lock lock(mutex_);
    changed_.notify_all();
  });
  base::Lock lock(mutex_);
  while (true) {
    auto now = std::chrono::steady_clock::now();
    if (call.Stopped() || now >= call.deadline) return {};
    Lane& lane = LaneOf(host, now);
    base::TimePoint opens = Opens(host, lane, now);
    if (opens <= now) {
      lane.inside++;
      lane.allowance -= 1;
      return {this, host};
    }
    base::TimePoint until = std::min(opens, call.deadline);
    if (until == base::TimePoint::max()) {
      changed_.wait(mutex_);
    } else {
      changed_.wait_until(mutex_, until);
    }
  }
}

void Throttle::Leave(const std::string& host) {
  base::Lock lock(mutex_);
  auto found = lanes_.find(host);
  if (found != lanes_.end()) found->second.inside--;
  changed_.notify_all();
}

}  // namespace prefetch::registry
