// ProcessFacts: what this process takes from its node, under the names that every Prometheus client uses.
#pragma once

#include <cstdint>
#include <optional>

namespace prefetch::agent {

// A value. What /proc does not tell is not known, and then not shown.
struct ProcessFacts {
  std::optional<double> cpu_seconds;
  std::optional<double> start_time_seconds;  // since the epoch
  std::optional<std::uint64_t> resident_bytes;
  std::optional<std::uint64_t> virtual_bytes;
  std::optional<std::uint64_t> open_fds;
  std::optional<std::uint64_t> max_fds;
};

// Reads /proc/self and /proc/stat, which costs no disk. Any thread may call.
ProcessFacts ReadProcessFacts();

}  // namespace prefetch::agent
