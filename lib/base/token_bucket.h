// TokenBucket: a rate in tokens a second, with a burst after a pause.
// PeerRateLimiter: a rate that untrusted clients share.
// Circuit: pauses after several failures in a row.
// Values: the time is the caller's.
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

  // Returns the tokens available; negative after an overdraft.
  double At(TimePoint now) const {
    if (!counted_at_) return tokens_;
    const double since = std::chrono::duration<double>(now - *counted_at_).count();
    return std::min(rate_.burst, tokens_ + since * rate_.per_second);
  }
  // Returns the time until a token is available; zero: now.
  Duration WaitAt(TimePoint now) const {
    const double tokens = At(now);
    if (rate_.per_second <= 0 || tokens >= 1) return Duration::zero();
    return std::chrono::ceil<Duration>(std::chrono::duration<double>((1 - tokens) / rate_.per_second));
  }
  // Takes the tokens unconditionally, and may overdraw: the real cost of a job may be known only after it.
  void Take(double tokens, TimePoint now) {
    tokens_ = At(now) - tokens;
    counted_at_ = now;
  }
  // Takes one token if it is available.
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

// A rate that untrusted clients share. Each of them gets a part, so that one that asks too much leaves the
// rest to the others. A value with one owner; the time is the caller's.
class PeerRateLimiter {
 public:
  PeerRateLimiter(TokenRate all, TokenRate each) : all_(all), each_(each) {}

  // Takes one token for `peer`, an address, and returns nullopt. If none is available, takes nothing and
  // returns the time until one is.
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

  // Takes up to `tokens` more of the peer's own, after its request turned out to be invalid.
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

// `base`, doubled `times` times, but no longer than `cap`. Fewer than one time: `base`.
constexpr Duration ExponentialBackoff(Duration base, int times, Duration cap) {
  for (int i = 0; i < times && base < cap; i++) base *= 2;
  return std::min(base, cap);
}

// A circuit breaker: after several failures in a row, pauses with exponential back-off. A rule without state:
// the owner counts the failures.
struct Circuit {
  int failures = 1;   // in a row that open it
  Duration first{0};  // how long it stays open the first time; each further time doubles this
  Duration longest{0};

  constexpr bool IsOpen(int consecutive_failures) const { return consecutive_failures >= failures; }
  // `times_opened`: in a row, this one included.
  constexpr Duration Pause(int times_opened) const {
    return ExponentialBackoff(first, times_opened - 1, longest);
  }
  // The pause if each further failure opens it anew. Zero: it is not open.
  constexpr Duration PauseAfter(int consecutive_failures) const {
    return IsOpen(consecutive_failures) ? Pause(consecutive_failures - failures + 1) : Duration::zero();
  }
};

}  // namespace prefetch::base
