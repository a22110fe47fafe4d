// Growth: whether what a process holds grew over the time in which it was looked at. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace prefetch::tests::soak {

// One look at an agent at rest.
struct Sample {
  std::size_t private_bytes = 0;   // resident, its own
  std::size_t resident_bytes = 0;  // with the program's pages, which the kernel may drop
  std::size_t descriptors = 0, threads = 0, children = 0;
  std::size_t leases = 0;
  std::size_t log_bytes = 0;    // since the sample before
  std::size_t gauge_lines = 0;  // of metrics about the present
};

// Minimum number of samples: fewer say nothing.
constexpr std::size_t kFewestSamples = 8;

// Each figure that grew, in a sentence: the median of the last quarter beside that of the second one. The
// first quarter fills caches. Empty for fewer than kFewestSamples.
std::vector<std::string> Growth(const std::vector<Sample>& samples);

}  // namespace prefetch::tests::soak
