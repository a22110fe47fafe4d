#include "config/file_fields.h"

#include <array>

namespace prefetch::config {
namespace {

constexpr std::int64_t kMostParallelPulls = 64;
constexpr std::int64_t kMostDiskBytes = std::int64_t{1} << 50;
// Less would look like a registry that hangs.
constexpr std::int64_t kLeastDownloadRate = 1'000'000;
constexpr std::int64_t kMostSeconds = plan::kLongestLimit.count();

constexpr std::array kLimitFields = {
    LimitField{"parallelPulls", &plan::Limits::parallel_pulls, 1, kMostParallelPulls,
               "Pulls at a time, until every entry is ready or has failed for good"},
    LimitField{"parallelPullsWhenReady", &plan::Limits::parallel_pulls_when_ready, 1, kMostParallelPulls,
               "Pulls at a time afterwards, at most parallelPulls"},
    LimitField{"perRegistryPulls", &plan::Limits::per_registry_pulls, 1, kMostParallelPulls,
               "Pulls at a time from one registry"},
    LimitField{
        "parallelPullsFar", &plan::Limits::parallel_pulls_far, 1, kMostParallelPulls,
        "Pulls at a time, in all and from each far registry, until every entry is ready or has failed for "
        "good. A registry is far if the first manifests take longer than 250 ms. parallelPulls or less: "
        "no more for far ones",
        "8, or parallelPulls if that or perRegistryPulls is set"},
    LimitField{"largeImageBytes", &plan::Limits::large_image_bytes, 1, kMostDiskBytes,
               "On a settled node, the agent pulls at most one image larger than this at a time"},
    LimitField{"diskMinFreeBytes", &plan::Limits::disk_min_free_bytes, 0, kMostDiskBytes,
               "Free bytes of the image filesystem that every pull must leave"},
    LimitField{"diskHighPercent", &plan::Limits::disk_high_percent, 1, 100,
               "Usage of the image filesystem that no pull may exceed. If kubelet's "
               "imageGCLowThresholdPercent is lower, that counts",
               "kubelet's threshold, or 80 if it is not known"},
    LimitField{"stallTimeout", &plan::Limits::stall_timeout, 1, kMostSeconds,
               "Time without progress after which the agent replaces a pull, if the runtime shows progress. "
               "At most pullLimit"},
    LimitField{"pullLimit", &plan::Limits::pull_limit, 1, kMostSeconds,
               "Maximum time of a pull whose progress the runtime shows"},
    LimitField{"startJitter", &plan::Limits::start_jitter, 0, kMostSeconds,
               "A node begins to pull a new list at a random moment within this time. For fleets of more "
               "than about 500 nodes"},
    LimitField{"downloadBytesPerSecond", &plan::Limits::download_bytes_per_second, kLeastDownloadRate,
               kMostDiskBytes,
               "Bytes a second that the agent itself downloads, with fetch: auto. 50000000 is 50 MB/s",
               "no limit"},
};

}  // namespace

std::span<const LimitField> LimitFields() {
  return kLimitFields;
}

}  // namespace prefetch::config
