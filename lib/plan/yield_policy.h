// YieldPolicy: kubelet's own pulls come first. While one of them moves, the agent's downloads hold still, and
// after a while go on so slowly that they cost it next to nothing. No I/O, no clock, no lock: the caller
// holds the lock.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "base/clock.h"

namespace prefetch::plan {

// Interval at which downloads of others are looked for.
constexpr std::chrono::milliseconds kForeignPullPollInterval{250};
// A pull that has not moved for this long waits for something else than the network: unpacking, a queue.
constexpr std::chrono::seconds kForeignPullIdleAfter{1};
// A stream holds still no longer than this while another pull moves: servers close connections on which
// nothing moves.
constexpr std::chrono::seconds kMaxHold{10};
// Then one stream goes on in bursts of 512 KiB. The pause after one is this many times its own duration.
constexpr int kPauses = 4;

class YieldPolicy {
 public:
  // `ingests`: the bytes written so far of all downloads of others, by their names.
  void Observe(std::map<std::string, std::uint64_t> ingests, base::TimePoint now);

  // Does another pull move?
  bool IsDue(base::TimePoint now) const;
  // When the next burst may begin; not after `now` if nothing speaks against it.
  base::TimePoint NextBurst(base::TimePoint now) const;
  void BurstEnded(base::TimePoint began, base::TimePoint now);

 private:
  std::map<std::string, std::uint64_t> ingests_;  // at the last poll
  bool observed_ = false;
  base::TimePoint moved_until_;
  base::TimePoint pause_until_;
};

}  // namespace prefetch::plan
