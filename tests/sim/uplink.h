// Uplink: what a registry sends to a fleet at the same time. All transfers share its rate evenly, and none is
// faster than a node can take. A value; the time is the caller's.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "base/clock.h"

namespace prefetch::sim {

class Uplink {
 public:
  // Bytes a second, in all and for one transfer; 0 in all: no limit.
  Uplink(double rate, double rate_of_one) : rate_(rate), rate_of_one_(rate_of_one) {}

  struct Transfer {
    int node = 0, tag = 0;
  };
  void Begin(const Transfer& transfer, double bytes, base::TimePoint now);
  // When the next one ends if none begins before; none: none runs.
  std::optional<base::TimePoint> NextEnd() const;
  // The one that ends at NextEnd().
  Transfer End();

  double bytes() const { return bytes_; }         // of all that have begun
  double most_a_second() const { return most_; }  // the highest rate so far

 private:
  struct Ends {
    double at = 0;  // the value of each_ at which it ends
    Transfer transfer;
    bool operator>(const Ends& other) const { return at > other.at; }
  };
  double RateOfEach() const;
  void MoveTo(base::TimePoint now);

  double rate_, rate_of_one_;
  double each_ = 0;  // bytes that a transfer has had that runs since the beginning
  base::TimePoint moved_to_;
  double bytes_ = 0, most_ = 0;
  std::priority_queue<Ends, std::vector<Ends>, std::greater<>> ends_;
};

}  // namespace prefetch::sim
