// Histogram: how many values fell between which bounds. A plain value, so that a scrape can copy it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace prefetch::agent {

class Histogram {
 public:
  // `bounds` are ascending; a value that equals a bound belongs below it, as Prometheus has it. They are a
  // constant of the caller's and outlive every copy.
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}

  void Observe(double value) {
    std::size_t i = 0;
    while (i < bounds_.size() && value > bounds_[i]) i++;
    counts_[i]++;
    sum_ += value;
  }

  // `other` has the same bounds.
  void Add(const Histogram& other) {
    for (std::size_t i = 0; i < counts_.size(); i++) counts_[i] += other.counts_[i];
    sum_ += other.sum_;
  }

  std::span<const double> bounds() const { return bounds_; }
  // One for each bound, not cumulative, and one for values above the last.
  const std::vector<std::uint64_t>& counts() const { return counts_; }
  double sum() const { return sum_; }

 private:
  std::span<const double> bounds_;
  std::vector<std::uint64_t> counts_;
  double sum_ = 0;
};

}  // namespace prefetch::agent
