// PeerRate: a rate that strangers share, of which each of them gets a part, so that one who asks too much
// leaves the rest to the others. A value of one owner; the time is the caller's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "base/token_bucket.h"

namespace prefetch::base {

class PeerRate {
 public:
  PeerRate(TokenRate all, TokenRate each) : all_(all), each_(each) {}

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

  std::size_t known() const { return peers_.size(); }

 private:
  static constexpr std::size_t kMostPeers = 1000;

  TokenBucket all_;
  TokenRate each_;
  std::map<std::string, TokenBucket> peers_;
};

}  // namespace prefetch::base
