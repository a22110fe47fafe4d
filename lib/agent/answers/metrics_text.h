// MetricsText: the current state and the counters, as GET /metrics.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/metrics.h"
#include "plan/snapshot.h"
#include "status/metrics_table.h"
#include "status/status_json.h"

namespace prefetch::agent {

// This process's use of the node, under the names that every Prometheus client uses. Figures that /proc lacks
// are left out.
struct ProcessFact {
  status::MetricNamed metric;
  double value = 0;
};
using ProcessFacts = std::vector<ProcessFact>;

// Reads /proc/self and /proc/stat, which costs no disk. Any thread may call.
ProcessFacts ReadProcessFacts();

// Prometheus' text format, version 0.0.4. Pure. Labels are closed sets, or names that the node's
// configuration bounds (list sources, credential providers); never an image's name. A public text does not
// name credential providers.
std::string MetricsText(const plan::Snapshot& snapshot, const Counts& counts, const ProcessFacts& process,
                        std::string_view version, status::View view);

}  // namespace prefetch::agent
