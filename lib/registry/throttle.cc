#include "registry/throttle.h"

#include <algorithm>

namespace prefetch::registry {
namespace {

constexpr std::size_t kMaxLanes = 512;  // Maximum number of lanes. Beyond it, idle ones are discarded.

}  // namespace

Throttle::Lane& Throttle::QueueOf(const std::string& host) {
  auto found = lanes_.find(host);
  if (found != lanes_.end()) return found->second;
  if (lanes_.size() >= kMaxLanes) {
    std::erase_if(lanes_, [](const auto& entry) { return entry.second.inside == 0; });
  }
  return lanes_.emplace(host, Lane{.inside = 0, .budget = base::TokenBucket(limits_.rate)}).first->second;
}

base::TimePoint Throttle::Opens(const std::string& host, const Lane& lane, base::TimePoint now) const {
  // The empty name is the lane of whole checks, which has no rate (R29).
  int most = host.empty() ? limits_.checks : limits_.requests_per_host;
  if (lane.inside >= most) return base::TimePoint::max();
  return host.empty() ? now : now + lane.budget.WaitAt(now);
}

Throttle::Pass Throttle::Enter(const base::Call& call, const std::string& host) {
  // The callback takes the lock, so that a stop cannot occur unnoticed between the check below and the wait.
  std::stop_callback wake(call.stop, [this] {
    base::Lock lock(mutex_);
    changed_.notify_all();
  });
  base::Lock lock(mutex_);
  while (true) {
    auto now = std::chrono::steady_clock::now();
    if (call.Stopped() || now >= call.deadline) return {};
    Lane& lane = QueueOf(host);
    base::TimePoint opens = Opens(host, lane, now);
    if (opens <= now) {
      lane.inside++;
      lane.budget.Take(1, now);
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
