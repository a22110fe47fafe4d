// ForecastGc: what kubelet's image garbage collection would do to the images of a list (K41 to K43).
// Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace prefetch::kubelet {

// The four fields of a KubeletConfiguration, with kubelet's defaults.
struct GcRules {
  int high_percent = 85;  // imageGCHighThresholdPercent; 100 and no maximum age: no collection at all
  int low_percent = 80;   // imageGCLowThresholdPercent
  std::chrono::nanoseconds minimum_age = std::chrono::minutes(2);  // imageMinimumGCAge
  std::chrono::nanoseconds maximum_age{0};                         // imageMaximumGCAge; 0: off

  friend bool operator==(const GcRules&, const GcRules&) = default;
};

// The filesystem that holds the images, as kubelet sees it.
struct ImageDisk {
  std::uint64_t capacity_bytes = 0;  // 0: not known
  std::uint64_t available_bytes = 0;
};

struct GcImage {
  std::string id;
  bool pinned = false;
  // For how long kubelet, since its own start, has known the image.
  std::chrono::nanoseconds first_seen_age{0};
};

// One collection for space.
struct GcSpacePass {
  std::uint64_t bytes_to_high = 0;  // further bytes in use at which it runs; 0: it runs at the next check
  std::uint64_t target_bytes = 0;   // the bytes it then tries to free
  std::size_t images = 0;           // that may be among the first
};

struct GcForecast {
  // Ids of all that kubelet may take, first to last. Empty while it collects nothing. Where a maximum age is
  // set, all of them also go for their age: to kubelet, an image that no container has used is older than
  // any. It happens at the first look after kubelet has been up for longer than the maximum age, and again
  // after each pull from then on.
  std::vector<std::string> order;
  // Without a value where there is no collection for space, or the disk is not known.
  std::optional<GcSpacePass> space;
  // Warnings for operators, one sentence each; none while kubelet leaves the images alone.
  std::vector<std::string> warnings;
};

// The agent does not know which images containers use. Every image is taken to be one that no container has
// used since kubelet's start: such go first, in the order in which kubelet saw them. So the forecast has
// every image that can be hit, whichever of them are in use. Images that are too young are passed over only
// if the pass is due now: later they are old enough. The percentages are kubelet's: it rounds usage up, so
// that 84.1 % is 85 %.
GcForecast ForecastGc(const GcRules& rules, const ImageDisk& disk, const std::vector<GcImage>& images);

}  // namespace prefetch::kubelet
