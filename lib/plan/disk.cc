#include "plan/disk.h"

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace prefetch::plan {

constexpr int kDefaultPercent = 80;

Limits WithThreshold(Limits limits, int kubelet_percent) {
  if (kubelet_percent <= 0) return limits;
  if (limits.disk_high_percent && *limits.disk_high_percent <= kubelet_percent) return limits;
  limits.disk_high_percent = kubelet_percent;
  limits.percent_is_kubelets = true;
  return limits;
}

namespace {

int Percent(const Limits& limits) {
  return std::clamp(limits.disk_high_percent.value_or(kDefaultPercent), 0, 100);
}

// Usage as kubelet counts it: everything that is not available (pkg/kubelet/images/image_gc_manager.go).
std::uint64_t KeptByPercent(const DiskSpace& disk, const Limits& limits) {
  return disk.capacity_bytes / 100 * static_cast<std::uint64_t>(100 - Percent(limits));
}

}  // namespace

std::uint64_t KeptFree(const DiskSpace& disk, const Limits& limits) {
  if (!disk.known) return 0;
  return std::max(KeptByPercent(disk, limits), limits.disk_min_free_bytes);
}

std::uint64_t Usable(const DiskSpace& disk, const Limits& limits) {
  if (!disk.known) return std::numeric_limits<std::uint64_t>::max();
  std::uint64_t kept = KeptFree(disk, limits);
  return disk.available_bytes > kept ? disk.available_bytes - kept : 0;
}

std::string DecidingLimit(const DiskSpace& disk, const Limits& limits) {
  if (!disk.known) return "";
  std::string limit = "diskMinFreeBytes";
  if (KeptByPercent(disk, limits) >= limits.disk_min_free_bytes) {
    limit = limits.percent_is_kubelets ? "kubelet's imageGCLowThresholdPercent (" : "diskHighPercent (";
    limit += std::to_string(Percent(limits)) + " %)";
  }
  return base::HumanBytes(disk.available_bytes) + " of the image filesystem's " +
         base::HumanBytes(disk.capacity_bytes) + " are free, and " + limit + " keeps " +
         base::HumanBytes(KeptFree(disk, limits)) + " free";
}

}  // namespace prefetch::plan
