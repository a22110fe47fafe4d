#include "plan/disk.h"

#include <algorithm>
#include <limits>

namespace prefetch::plan {

constexpr int kDefaultPercent = 80;

// Once as it came, and three times that unpacked: spec/cri.md section 9.2.
std::uint64_t SpaceFor(std::uint64_t compressed_bytes) {
  constexpr std::uint64_t kFactor = 4;
  if (compressed_bytes > std::numeric_limits<std::uint64_t>::max() / kFactor) return compressed_bytes;
  return compressed_bytes * kFactor;
}

Limits WithThreshold(Limits limits, int kubelet_percent) {
  if (kubelet_percent <= 0) return limits;
  limits.disk_high_percent = std::min(limits.disk_high_percent.value_or(kubelet_percent), kubelet_percent);
  return limits;
}

std::uint64_t Usable(const DiskSpace& disk, const Limits& limits) {
  if (!disk.known) return std::numeric_limits<std::uint64_t>::max();
  // Usage as kubelet counts it: everything that is not available (spec/kubelet.md section 2.6).
  auto percent =
      static_cast<std::uint64_t>(std::clamp(limits.disk_high_percent.value_or(kDefaultPercent), 0, 100));
  std::uint64_t reserve = disk.capacity_bytes / 100 * (100 - percent);
  reserve = std::max(reserve, limits.disk_min_free_bytes);
  return disk.available_bytes > reserve ? disk.available_bytes - reserve : 0;
}

}  // namespace prefetch::plan
