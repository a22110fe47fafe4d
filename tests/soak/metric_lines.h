// MetricLines: the lines of a scrape by what becomes of them. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace prefetch::tests::soak {

struct MetricLines {
  // Lines of counters and histograms: a series that has come stays until the process ends.
  std::size_t counted = 0;
  // Lines of gauges, about the present: these come and go.
  std::size_t present = 0;
};
MetricLines LinesOf(std::string_view metrics);

// The most that `counted` can be, for an agent with this number of credential providers, over its local
// socket: each reason that a pull can end for, each answer of a registry, each outcome of each provider. Not
// for an agent with --touch, or with callers that bring a token.
std::size_t MostCounted(std::size_t providers);

}  // namespace prefetch::tests::soak
