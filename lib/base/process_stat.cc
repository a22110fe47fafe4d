#include "base/process_stat.h"

#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>

#include "base/fs.h"
#include "base/text.h"

namespace prefetch::base {

namespace {

// Fields are counted from 1; the state is the 3rd, the start time the 22nd.
constexpr std::size_t kFirstFieldBehindName = 3;
constexpr std::size_t kParentField = 4;
constexpr std::size_t kStartField = 22;

}  // namespace

std::optional<ProcessStat> ParseProcessStat(std::string_view text) {
  // The name may contain anything, brackets and spaces too, so the last bracket ends it.
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(") ");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  const std::vector<std::string_view> fields = Split(text.substr(close + 2), ' ');
  // Later kernels only append fields.
  if (fields.size() <= kStartField - kFirstFieldBehindName) return std::nullopt;
  return ProcessStat{text.substr(open + 1, close - open - 1), fields[0],
                     fields[kParentField - kFirstFieldBehindName],
                     fields[kStartField - kFirstFieldBehindName]};
}

std::optional<WallTime> StartOf(std::string_view started, std::string_view machine) {
  constexpr std::string_view kBoot = "btime ";
  const auto ticks = ParseUint(started);
  const long per_second = ::sysconf(_SC_CLK_TCK);
  if (!ticks || per_second <= 0) return std::nullopt;
  for (std::string_view line : Split(machine, '\n')) {
    if (!line.starts_with(kBoot)) continue;
    const auto boot = ParseUint(TrimSpace(line.substr(kBoot.size())));
    if (!boot) return std::nullopt;
    const std::chrono::duration<double> since_boot{static_cast<double>(*ticks) /
                                                   static_cast<double>(per_second)};
    return WallTime(std::chrono::seconds(*boot)) + std::chrono::duration_cast<WallTime::duration>(since_boot);
  }
  return std::nullopt;
}

void LimitHeap() {
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_THRESHOLD, 128 * 1024);
}

void ReturnFreeMemory() {
  ::malloc_trim(0);
}

namespace {

constexpr std::size_t kLongestMountinfo = 16 << 20;  // with the mounts of all containers of a node
constexpr std::size_t kRoot = 3, kPoint = 4;         // proc(5): fields of a line
constexpr std::string_view kDeleted = "//deleted";

bool IsOctal(char c) {
  return c >= '0' && c <= '7';
}

// mountinfo writes a space as "\040", and tabs, newlines and backslashes likewise.
std::string Unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); i++) {
    const bool escape = text[i] == '\\' && i + 3 < text.size() && IsOctal(text[i + 1]) &&
                        IsOctal(text[i + 2]) && IsOctal(text[i + 3]);
    if (!escape) {
      out += text[i];
      continue;
    }
    out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return out;
}

}  // namespace

std::vector<std::string> DeletedMounts(std::string_view mountinfo) {
  std::vector<std::string> points;
  for (std::string_view line : Split(mountinfo, '\n')) {
    // A node has thousands of mounts, and hardly any is deleted: most lines are not taken apart.
    if (line.find(kDeleted) == std::string_view::npos) continue;
    const std::vector<std::string_view> fields = Split(line, ' ');
    if (fields.size() <= kPoint || !fields[kRoot].ends_with(kDeleted)) continue;
    points.push_back(Unescaped(fields[kPoint]));
  }
  return points;
}

std::vector<std::string> ReplacedFiles(const std::string& mountinfo_path) {
  auto text = ReadFile(mountinfo_path, kLongestMountinfo);
  if (!text) return {};
  std::vector<std::string> files;
  for (std::string& point : DeletedMounts(*text)) {
    auto kind = KindOf(point);
    if (kind && *kind != FileKind::kDirectory) files.push_back(std::move(point));
  }
  return files;
}

}  // namespace prefetch::base
