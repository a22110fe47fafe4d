// TokenBucket: a rate in tokens a second, and a few more at once after a pause. A value: the time is the
// caller's.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"

namespace prefetch::base {

struct TokenRate {
  double per_second = 0;  // 0: there is no limit
  double burst = 0;       // at once, after a pause
};

class TokenBucket {
 public:
  // Full.
  explicit TokenBucket(TokenRate rate) : rate_(rate), tokens_(rate.burst) {}

  // How many may go now; below zero where more were taken than were there.
  double At(TimePoint now) const {
    if (!counted_at_) return tokens_;
    const double since = std::chrono::duration<double>(now - *counted_at_).count();
    return std::min(rate_.burst, tokens_ + since * rate_.per_second);
  }
  // Until one may go; zero: now.
  Duration WaitAt(TimePoint now) const {
    const double tokens = At(now);
    if (rate_.per_second <= 0 || tokens >= 1) return Duration::zero();
    return std::chrono::ceil<Duration>(std::chrono::duration<double>((1 - tokens) / rate_.per_second));
  }
  // Whether they are there or not: what something really took may be known only after it.
  void Take(double tokens, TimePoint now) {
    tokens_ = At(now) - tokens;
    counted_at_ = now;
  }
  // One, if it may go now.
  bool TryTake(TimePoint now) {
    if (WaitAt(now) > Duration::zero()) return false;
    Take(1, now);
    return true;
  }

 private:
  TokenRate rate_;
  double tokens_;
  std::optional<TimePoint> counted_at_;  // none: nothing was taken yet
};

// PeerRateLimiter: a rate that untrusted clients share. Each of them gets a part, so that one that asks too
// much leaves the rest to the others. A value with one owner; the time is the caller's.

class PeerRateLimiter {
 public:
  PeerRateLimiter(TokenRate all, TokenRate each) : all_(all), each_(each) {}

  // One for `peer`, an address. nullopt: it may go; else the time until one may, and nothing is taken.
  std::optional<Duration> Take(const std::string& peer, TimePoint now) {
    // Full buckets are as good as new ones. The limit of all leaves few buckets below full.
    if (peers_.size() >= kMostPeers)
      std::erase_if(peers_, [&](const auto& one) { return one.second.At(now) >= each_.burst; });
    TokenBucket& own = peers_.try_emplace(peer, each_).first->second;
    const Duration wait = std::max(own.WaitAt(now), all_.WaitAt(now));
    if (wait > Duration::zero()) return wait;
    own.Take(1, now);
    all_.Take(1, now);
    return std::nullopt;
  }

  // Takes `tokens` of the peer's own, as many as are there: it did not deserve what it got.
  void Penalize(const std::string& peer, double tokens, TimePoint now) {
    auto own = peers_.find(peer);
    if (own == peers_.end()) return;
    own->second.Take(std::clamp(own->second.At(now), 0.0, tokens), now);
  }

  std::size_t known() const { return peers_.size(); }

 private:
  static constexpr std::size_t kMostPeers = 1000;

  TokenBucket all_;
  TokenRate each_;
  std::map<std::string, TokenBucket> peers_;
};

// Circuit: what fails several times in a row is left alone, each time for longer. A rule; its owner counts.

// `base`, doubled `times` times, but no longer than `cap`. Fewer than one time: `base`.
constexpr Duration ExponentialBackoff(Duration base, int times, Duration cap) {
  for (int i = 0; i < times && base < cap; i++) base *= 2;
  return std::min(base, cap);
}

struct Circuit {
  int failures = 1;   // in a row that open it
  Duration first{0};  // how long it stays open the first time; each further time doubles this
  Duration longest{0};

  constexpr bool IsOpen(int consecutive_failures) const { return consecutive_failures >= failures; }
  // `times_opened`: in a row, this one included.
  constexpr Duration Pause(int times_opened) const {
    return ExponentialBackoff(first, times_opened - 1, longest);
  }
  // Where each further failure opens it anew. Zero: it is not open.
  constexpr Duration PauseAfter(int consecutive_failures) const {
    return IsOpen(consecutive_failures) ? Pause(consecutive_failures - failures + 1) : Duration::zero();
  }
};

}  // namespace prefetch::base
