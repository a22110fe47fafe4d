#include "plan/disk.h"

#include <algorithm>
#include <limits>

namespace prefetch::plan {

constexpr int kDefaultPercent = 80;

// Once as it came, and three times that unpacked.
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

std::uint64_t KeptFree(const DiskSpace& disk, const Limits& limits) {
  if (!disk.known) return 0;
  // Usage as kubelet counts it: everything that is not available (pkg/kubelet/images/image_gc_manager.go).
  auto percent =
      static_cast<std::uint64_t>(std::clamp(limits.disk_high_percent.value_or(kDefaultPercent), 0, 100));
  return std::max(disk.capacity_bytes / 100 * (100 - percent), limits.disk_min_free_bytes);
}

std::uint64_t Usable(const DiskSpace& disk, const Limits& limits) {
  if (!disk.known) return std::numeric_limits<std::uint64_t>::max();
  std::uint64_t kept = KeptFree(disk, limits);
  return disk.available_bytes > kept ? disk.available_bytes - kept : 0;
}

}  // namespace prefetch::plan
