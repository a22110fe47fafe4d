#include "soak/metric_lines.h"

#include <gtest/gtest.h>

namespace prefetch::tests::soak {
namespace {

TEST(MetricLines, CountersAndHistogramsStay) {
  const MetricLines lines = LinesOf(
      "# HELP prefetchd_ready 1 if every\n# TYPE prefetchd_ready gauge\nprefetchd_ready 1\n"
      "# HELP prefetchd_pulls_total Pulls\n# TYPE prefetchd_pulls_total counter\n"
      "prefetchd_pulls_total{result=\"failed\",class=\"NotFound\"} 2\n"
      "# HELP prefetchd_pull_bytes Size\n# TYPE prefetchd_pull_bytes histogram\n"
      "prefetchd_pull_bytes_count 1\nprefetchd_pull_bytes_sum 5\n"
      "prefetchd_pull_bytes_bucket{le=\"1\"} 0\nprefetchd_pull_bytes_bucket{le=\"+Inf\"} 1\n"
      "prefetchd_pulls_running 0\nprefetchd_entries{state=\"Ready\"} 3\n");
  EXPECT_EQ(lines.counted, 9U);
  EXPECT_EQ(lines.present, 5U);
}

// A histogram of 13 lines for each outcome of a provider. Two lines of text stand above the first of all.
TEST(MetricLines, OfAProviderAreThirtyNine) {
  EXPECT_EQ(MostCounted(1), MostCounted(0) + 39 + 2);
  EXPECT_EQ(MostCounted(5), MostCounted(1) + 4 * 39);
  EXPECT_LT(MostCounted(1), 200U);
}

}  // namespace
}  // namespace prefetch::tests::soak
