#include "agent/answers/metrics_text.h"

#include <sys/resource.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/fs.h"
#include "base/text.h"

namespace prefetch::agent {
namespace {

// /proc/stat has a long line for all interrupts; a node with more than this is not known.
constexpr std::size_t kMaxProcFile = 1 << 20;
constexpr std::size_t kMaxFds = 1 << 16;

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// The number in field `index` of `text`, where single spaces separate fields.
std::optional<std::uint64_t> Field(std::string_view text, std::size_t index) {
  std::vector<std::string_view> fields = base::Split(base::TrimSpace(text), ' ');
  return index < fields.size() ? base::ParseUint(fields[index]) : std::nullopt;
}

// proc(5): the 22nd field of /proc/self/stat is the start in clock ticks since boot. The second is the name
// in parentheses and may hold spaces, so fields are counted from its end.
std::optional<double> StartTime() {
  auto self = base::ReadFile("/proc/self/stat", kMaxProcFile);
  auto machine = base::ReadFile("/proc/stat", kMaxProcFile);
  if (!self || !machine) return std::nullopt;
  std::size_t name_end = self->rfind(") ");
  std::size_t boot = machine->find("\nbtime ");
  if (name_end == std::string::npos || boot == std::string::npos) return std::nullopt;
  auto ticks = Field(std::string_view(*self).substr(name_end + 2), 22 - 3);
  std::string_view boot_line = std::string_view(*machine).substr(boot + 1);
  auto boot_seconds = Field(boot_line.substr(0, boot_line.find('\n')), 1);
  long per_second = ::sysconf(_SC_CLK_TCK);
  if (!ticks || !boot_seconds || per_second <= 0) return std::nullopt;
  return static_cast<double>(*boot_seconds) + static_cast<double>(*ticks) / static_cast<double>(per_second);
}

}  // namespace

ProcessFacts ReadProcessFacts() {
  ProcessFacts facts;
  if (rusage usage{}; ::getrusage(RUSAGE_SELF, &usage) == 0) {
    facts.cpu_seconds = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  }
  // Once: on a node with many CPUs the kernel takes milliseconds to write /proc/stat.
  static const std::optional<double> kStarted = StartTime();
  facts.start_time_seconds = kStarted;
  if (auto memory = base::ReadFile("/proc/self/statm", kMaxProcFile)) {
    auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    if (auto pages = Field(*memory, 0)) facts.virtual_bytes = *pages * page;
    if (auto pages = Field(*memory, 1)) facts.resident_bytes = *pages * page;
  }
  // One of them is the one that reads the folder.
  if (auto open = base::ListDirectory("/proc/self/fd", kMaxFds); open && !open->empty()) {
    facts.open_fds = open->size() - 1;
  }
  if (rlimit limit{}; ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    facts.max_fds = limit.rlim_cur;
  }
  return facts;
}

}  // namespace prefetch::agent
