#include "bench/measure.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

namespace prefetch::bench {

Memory MemoryOf(pid_t pid) {
  Memory memory;
  std::ifstream file("/proc/" + std::to_string(pid) + "/smaps_rollup");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t kilobytes = 0;
    if (!(words >> name >> kilobytes)) continue;
    if (name == "Rss:") memory.resident_bytes = kilobytes * 1024;
    if (name == "Private_Dirty:") memory.private_bytes = kilobytes * 1024;
  }
  return memory;
}

double CpuSecondsOf(pid_t pid) {
  double nanoseconds = 0;
  std::error_code error;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", error)) {
    double spent = 0;
    if (std::ifstream(task.path() / "schedstat") >> spent) nanoseconds += spent;
  }
  return nanoseconds / 1e9;
}

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void Print(const std::string& name, const std::string& measured, const std::string& target) {
  std::string line = "BENCH  " + name + ": " + measured + "  (target " + target + ")";
  std::cout << line << std::endl;
  if (const char* report = std::getenv("PREFETCH_BENCH_REPORT"))
    std::ofstream(report, std::ios::app) << line << "\n";
}

std::string Milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f ms", seconds * 1e3);
  return text;
}

std::string MiB(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

}  // namespace prefetch::bench
