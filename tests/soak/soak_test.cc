// Ninety days of a node in virtual time: nothing grows. $PREFETCH_SOAK_DAYS is the number of days; without it
// some that take seconds. With $PREFETCH_SOAK_NIGHTS the machine does not sleep at night. What days came to
// goes to standard output.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "soak/days.h"

namespace prefetch::tests::soak {
namespace {

// The first days fill what is bounded: unlisted images, caches of answers. Later ones are compared with the
// tenth, or in a short run with the fifth.
constexpr std::size_t kFirst = 10, kFirstOfFew = 5;
constexpr std::size_t kDays = 12;
// Two evenings differ by this at most: longer histories, a log line under way.
constexpr std::size_t kHeap = 128 << 10;
// Pools start threads when there is work: pulls 8, checks 8, look-ups 17, looks 3, the test's own.
constexpr std::size_t kThreads = 40;
// Days differ by the order of what happens in them.
constexpr double kDaysDiffer = 1.4;

std::size_t DaysToLive() {
  const char* text = std::getenv("PREFETCH_SOAK_DAYS");
  auto days = text == nullptr ? std::nullopt : base::ParseUint(text);
  return days ? static_cast<std::size_t>(*days) : kDays;
}

void Print(const Evening& evening) {
  std::printf(
      "day %3d: heap %zu KiB, %zu descriptors, %zu threads, %zu leases, %zu log lines of %zu KiB, "
      "%zu lines of metrics, status %zu KiB\n",
      evening.day, evening.heap_bytes >> 10, evening.descriptors, evening.threads, evening.leases,
      evening.log_lines, evening.log_bytes >> 10, evening.metric_series, evening.status_bytes >> 10);
  std::fflush(stdout);
}

TEST(Soak, NothingGrows) {
  ::mallopt(M_ARENA_MAX, 1);
  const std::size_t count = DaysToLive();
  const std::size_t first_day = count > 2 * kFirst ? kFirst : kFirstOfFew;
  ASSERT_GT(count, first_day) << "PREFETCH_SOAK_DAYS must be more";
  Days days(std::getenv("PREFETCH_SOAK_NIGHTS") != nullptr);
  Evening first;
  std::size_t most_lines = 0;  // of the first days, whose happenings come in other orders
  for (std::size_t day = 1; day <= count; day++) {
    const Evening evening = days.Live();
    EXPECT_TRUE(evening.ready) << "on day " << day;
    EXPECT_EQ(evening.leases, 0U) << "on day " << day;
    if (count <= 2 * kFirst || day % kFirst == 0 || day == count) Print(evening);
    if (day <= first_day) most_lines = std::max(most_lines, evening.log_lines);
    if (day < first_day) continue;
    if (day == first_day) first = evening;
    EXPECT_LE(evening.heap_bytes, first.heap_bytes + kHeap) << "on day " << day;
    EXPECT_LE(evening.descriptors, first.descriptors) << "on day " << day;
    EXPECT_LE(evening.threads, kThreads) << "on day " << day;
    EXPECT_LE(evening.metric_series, first.metric_series) << "on day " << day;
    EXPECT_LE(static_cast<double>(evening.log_lines), kDaysDiffer * static_cast<double>(most_lines))
        << "on day " << day;
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
