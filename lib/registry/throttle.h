// Throttle: limits this node's requests to registries (R29).
#pragma once

#include <map>
#include <string>
#include <utility>

#include "base/call.h"
#include "base/mutex.h"
#include "base/token_bucket.h"
#include "image/registry_answer.h"

namespace prefetch::registry {

// At once, of checks for parties that ask the agent, beside its own: one for each thread that answers them.
constexpr int kChecksForOthers = 16;

struct ThrottleLimits {
  int checks = image::kChecksAtOnce + kChecksForOthers;  // at once, over all registries
  // At once. One more than either the agent itself or the pods that ask it use.
  int requests_per_host = image::kRequestsPerRegistry + 1;
  base::TokenRate rate = image::kRegistryRequests;  // of requests to one host
};

// Thread-safe. A Pass from Enter leaves when it is destroyed, so a Throttle must outlive its Passes.
class Throttle {
 public:
  explicit Throttle(ThrottleLimits limits) : limits_(limits) {}
  Throttle(const Throttle&) = delete;
  Throttle& operator=(const Throttle&) = delete;

  class Pass {
   public:
    Pass() = default;
    Pass(Pass&& other) noexcept
        : throttle_(std::exchange(other.throttle_, nullptr)), host_(std::move(other.host_)) {}
    Pass& operator=(Pass&&) = delete;
    ~Pass() {
      if (throttle_ != nullptr) throttle_->Leave(host_);
    }
    bool granted() const { return throttle_ != nullptr; }

   private:
    friend class Throttle;
    Pass(Throttle* throttle, std::string host) : throttle_(throttle), host_(std::move(host)) {}
    Throttle* throttle_ = nullptr;
    std::string host_;
  };

  // Waits for its turn: for a whole check, or for one request to `host`. Not granted: the call ended first.
  Pass EnterCheck(const base::Call& call) { return Enter(call, ""); }
  Pass EnterHost(const base::Call& call, const std::string& host) { return Enter(call, host); }

 private:
  struct Lane {
    int inside = 0;
    base::TokenBucket budget;
  };
  Pass Enter(const base::Call& call, const std::string& host) PREFETCH_EXCLUDES(mutex_);
  void Leave(const std::string& host) PREFETCH_EXCLUDES(mutex_);
  // Returns when `lane` admits the next one: now or earlier, at a time, or never before another one leaves.
  base::TimePoint Opens(const std::string& host, const Lane& lane, base::TimePoint now) const;
  Lane& QueueOf(const std::string& host) PREFETCH_REQUIRES(mutex_);

  const ThrottleLimits limits_;
  base::Mutex mutex_;
  base::Condition changed_;
  std::map<std::string, Lane> lanes_ PREFETCH_GUARDED_BY(mutex_);  // "" is that of the checks
};

}  // namespace prefetch::registry
