// MetricsText: the current state and the counters, as GET /metrics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/metrics.h"
#include "plan/snapshot.h"
#include "status/status_json.h"

namespace prefetch::agent {

// This process's use of the node, under the names that every Prometheus client uses. A value. Figures that
// /proc lacks are left out.
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

// Prometheus' text format, version 0.0.4. Pure. Labels are closed sets, or names that the node's
// configuration bounds (list sources, credential providers); never an image's name. A public text does not
// name credential providers.
std::string MetricsText(const plan::Snapshot& snapshot, const Counts& counts, const ProcessFacts& process,
                        std::string_view version, status::View view);

}  // namespace prefetch::agent
