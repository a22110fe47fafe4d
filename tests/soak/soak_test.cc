// Ninety days of a node in virtual time: nothing grows. $PREFETCH_SOAK_DAYS is the number of days; without it
// some that take seconds. With $PREFETCH_SOAK_NIGHTS the machine does not sleep at night. The test prints the
// figures of the days.
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "base/text.h"
#include "soak/days.h"

namespace prefetch::tests::soak {
namespace {

// The first days fill what is bounded: unlisted images, caches of answers. Later ones are compared with the
// tenth, or in a short run with the fifth.
constexpr std::size_t kFirst = 10, kFirstOfFew = 5;
constexpr std::size_t kDays = 12;
// Two evenings differ by this at most: longer histories, images that have just lost their tag.
constexpr std::size_t kHeap = 48 << 10;
// Pools start threads when there is work: pulls 8, checks 8, look-ups 17, looks 3, the test's own.
constexpr std::size_t kThreads = 40;
// Days differ by the order of what happens in them: one day from the worst of the first ones by this, and as
// many days together from the first ones by that.
constexpr double kDaysDiffer = 2, kSumsDiffer = 1.4;
// Number of additional lines of gauges: states that entries are in on some evenings only.
constexpr std::size_t kStates = 6;
constexpr std::size_t kPlugins = 1;

std::size_t DaysToLive() {
  const char* text = std::getenv("PREFETCH_SOAK_DAYS");
  auto days = text == nullptr ? std::nullopt : base::ParseUint(text);
  return days ? static_cast<std::size_t>(*days) : kDays;
}

// Checks the numbers of log lines: one number for each day.
void ExpectNoMore(const std::vector<std::size_t>& lines, std::size_t first_days) {
  const auto first = lines.begin();
  const auto after = first + static_cast<std::ptrdiff_t>(first_days);
  if (lines.size() <= first_days) return;
  EXPECT_LE(static_cast<double>(lines.back()),
            kDaysDiffer * static_cast<double>(*std::max_element(first, after)))
      << "log lines of day " << lines.size();
  if (lines.size() < 2 * first_days) return;
  const auto before = static_cast<double>(std::accumulate(first, after, std::size_t{0}));
  const auto now = static_cast<double>(
      std::accumulate(lines.end() - static_cast<std::ptrdiff_t>(first_days), lines.end(), std::size_t{0}));
  EXPECT_LE(now, kSumsDiffer * before) << "log lines of the days to " << lines.size();
}

void Print(const Evening& evening) {
  std::printf(
      "day %3d: heap %zu KiB, %zu descriptors, %zu threads, %zu leases, %zu log lines of %zu KiB, "
      "%zu and %zu lines of metrics, status %zu KiB\n",
      evening.day, evening.heap_bytes >> 10, evening.descriptors, evening.threads, evening.leases,
      evening.log_lines, evening.log_bytes >> 10, evening.metric_lines.counted, evening.metric_lines.present,
      evening.status_bytes >> 10);
  std::fflush(stdout);
}

TEST(Soak, NothingGrows) {
  ::mallopt(M_ARENA_MAX, 1);
  const std::size_t count = DaysToLive();
  const std::size_t first_day = count > 2 * kFirst ? kFirst : kFirstOfFew;
  ASSERT_GT(count, first_day) << "PREFETCH_SOAK_DAYS must be more";
  Days days(std::getenv("PREFETCH_SOAK_NIGHTS") != nullptr);
  Evening first;
  std::vector<std::size_t> log_lines;
  for (std::size_t day = 1; day <= count; day++) {
    const Evening evening = days.Live();
    EXPECT_TRUE(evening.ready) << "on day " << day;
    EXPECT_EQ(evening.leases, 0U) << "on day " << day;
    Print(evening);
    log_lines.push_back(evening.log_lines);
    ExpectNoMore(log_lines, first_day);
    if (day < first_day) continue;
    if (day == first_day) first = evening;
    EXPECT_LE(evening.heap_bytes, first.heap_bytes + kHeap) << "on day " << day;
    EXPECT_LE(evening.descriptors, first.descriptors) << "on day " << day;
    EXPECT_LE(evening.threads, kThreads) << "on day " << day;
    EXPECT_LE(evening.metric_lines.counted, MostCounted(kPlugins)) << "on day " << day;
    EXPECT_LE(evening.metric_lines.present, first.metric_lines.present + kStates) << "on day " << day;
    EXPECT_LE(static_cast<double>(evening.status_bytes), 1.1 * static_cast<double>(first.status_bytes))
        << "on day " << day;
  }
}

// Lists of CI jobs name ever new registries; each kept one would cost some hundred bytes for good.
TEST(Soak, RegistriesThatNoListNamesAreForgotten) {
  ::mallopt(M_ARENA_MAX, 1);
  Node node({.persona = Persona::kContainerd23});
  auto heap_after = [&](int round) {
    std::vector<std::string> names;
    for (int i = 0; i < 150; i++)
      names.push_back("r" + std::to_string(150 * round + i) + ".registries.test/app:v1");
    for (const std::string& name : names) node.runtime.Fail(name, image::ErrorClass::kUnreachable);
    node.List(names);
    node.RunFor(std::chrono::minutes(4));
    node.List({});
    for (const std::string& name : names) node.runtime.Fail(name, std::nullopt);
    node.RunFor(std::chrono::hours(3));
    std::vector<std::string>().swap(node.log);
    return ::mallinfo2().uordblks;
  };
  std::size_t first = 0, last = 0;
  for (int round = 0; round < 5; round++) {
    last = heap_after(round);
    if (round == 1) first = last;
    std::printf("round %d: heap %zu KiB\n", round, last >> 10);
  }
  EXPECT_LE(last, first + (64 << 10));
}

}  // namespace
}  // namespace prefetch::tests::soak

// Each thread keeps freed memory for itself, and mallinfo2 counts that as used: it fills for weeks, to some
// hundred kilobytes. Without that, the heap is what the program holds. glibc reads this at the start only.
int main(int argc, char** argv) {
  constexpr const char* kTunables = "GLIBC_TUNABLES";
  if (std::getenv(kTunables) == nullptr) {
    ::setenv(kTunables, "glibc.malloc.tcache_count=0", 1);
    ::execv("/proc/self/exe", argv);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
