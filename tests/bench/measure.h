// Measures a process, and prints the figures beside their targets.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace prefetch::bench {

struct Memory {
  std::uint64_t resident_bytes = 0;
  // Memory that only this process holds and the kernel cannot drop: not the text of a binary that runs once.
  std::uint64_t private_bytes = 0;
};
Memory MemoryOf(pid_t pid);      // from /proc/PID/smaps_rollup
double CpuSecondsOf(pid_t pid);  // of all its threads, to the nanosecond

double SecondsSince(std::chrono::steady_clock::time_point start);
double Median(std::vector<double> values);

// A line "name  measured  (target …)"; collected lines also go to the file that PREFETCH_BENCH_REPORT names.
void Print(const std::string& name, const std::string& measured, const std::string& target);
std::string Milliseconds(double seconds);
std::string MiB(std::uint64_t bytes);

}  // namespace prefetch::bench
