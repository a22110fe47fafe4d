// Measures how long a probe waits beside three hundred clients that ask for everything and read nothing, and
// how long it waits alone: by turns, on one agent.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "system/slow_readers.h"

namespace prefetch::bench {
namespace {

constexpr std::chrono::seconds kTurn{2};
constexpr int kTurns = 2;

double Percentile(std::vector<double> values, std::size_t percent) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() * percent / 100];
}

TEST(SlowReadersBench, ProbesBesideThem) {
  system::SlowReaders readers;
  readers.StartAgent();
  std::vector<double> alone, beside;
  for (int turn = 0; turn < kTurns; turn++) {
    for (auto& [paths, all] : {std::pair<std::vector<std::string>, std::vector<double>*>{{}, &alone},
                               {{"/v1/status", "/metrics", "/readyz?verbose"}, &beside}}) {
      const auto probes = readers.Attack(paths, kTurn);
      EXPECT_EQ(probes.unanswered, 0);
      all->insert(all->end(), probes.seconds.begin(), probes.seconds.end());
    }
  }
  const auto both = [](const std::vector<double>& values) {
    return "p50 " + Milliseconds(Percentile(values, 50)) + ", p99 " + Milliseconds(Percentile(values, 99));
  };
  Print("/readyz beside 300 clients that read nothing", both(beside) + "; alone " + both(alone),
        "p99 10 ms on a quiet machine");
}

}  // namespace
}  // namespace prefetch::bench
