// Limits: how much the agent may do at once, and when it lets go. Each is a field of the configuration file
// (limits: in AgentConfiguration) with the default that stands here.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace prefetch::plan {

// No time among the limits may be longer (config/file_fields.cc).
inline constexpr std::chrono::seconds kLongestLimit = std::chrono::hours(24);

struct Limits {
  int parallel_pulls = 4;             // until every entry is ready or has failed for good once
  int parallel_pulls_when_ready = 2;  // afterwards: pods' own pulls come first then
  int per_registry_pulls = 4;
  // Until then, in all and from each far registry (plan/distance.h). A value not above parallel_pulls has
  // no effect.
  int parallel_pulls_far = 8;
  // On a settled node, at most one pull at a time may be larger than this.
  std::uint64_t large_image_bytes = 2ULL << 30;
  // A pull may start, and go on, while the image filesystem keeps this much free and stays below this usage.
  // The lower usage counts: this one, or kubelet's imageGCLowThresholdPercent where it is known; 80 %, its
  // default, where neither is (K41).
  std::uint64_t disk_min_free_bytes = 5ULL << 30;
  std::optional<int> disk_high_percent;
  bool percent_is_kubelets = false;  // WithThreshold took kubelet's
  // Where bytes can be seen, only a pull that did not move for this long is replaced; and in all a pull may
  // take `pull_limit`. Where they cannot, the entry's pullTimeout is the one deadline.
  std::chrono::seconds stall_timeout{600};
  std::chrono::seconds pull_limit{7200};
  // A node begins to pull a new list at a random moment within this time. For fleets of more than about 500
  // nodes: they do not all ask at the same moment (deploy/docs/fleets.md).
  std::chrono::seconds start_jitter{0};
  // The agent's own downloads in a second (--fetch=auto), from all registries together; 0: no limit.
  std::uint64_t download_bytes_per_second = 0;

  friend bool operator==(const Limits&, const Limits&) = default;
};

// `limits` with kubelet's threshold; 0: not known.
Limits WithThreshold(Limits limits, int kubelet_percent);

}  // namespace prefetch::plan
