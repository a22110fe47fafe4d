// MetricsText: what is true now and what was counted, as GET /metrics.
#pragma once

#include <string>
#include <string_view>

#include "agent/answers/process_facts.h"
#include "agent/metrics.h"
#include "plan/snapshot.h"

namespace prefetch::agent {

// Prometheus' text format, version 0.0.4. Pure. Labels are closed sets, or names that the node's
// configuration bounds (list sources, credential providers); never an image's name.
std::string MetricsText(const plan::Snapshot& snapshot, const Counts& counts, const ProcessFacts& process,
                        std::string_view version);

}  // namespace prefetch::agent
