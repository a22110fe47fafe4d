#include "plan/pins.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/saturating.h"
#include "base/text.h"

namespace prefetch::plan {
namespace {

std::uint64_t SpaceForImages(const DiskSpace& disk, const Limits& limits) {
  // The disk rule refuses nothing while the filesystem cannot be measured.
  if (!disk.known) return std::numeric_limits<std::uint64_t>::max();
  return base::SaturatingSub(disk.capacity_bytes, KeptFree(disk, limits));
}

}  // namespace

PinDecision DecidePins(const std::vector<DesiredPin>& desired, const std::set<std::string>& ours,
                       const DiskSpace& disk, const Limits& limits) {
  PinDecision decision;
  std::set<std::string> kept;     // names whose label stays
  std::set<std::string> counted;  // ids: names of one image share its content
  const std::uint64_t space = SpaceForImages(disk, limits);
  std::uint64_t taken = 0;
  for (const DesiredPin& candidate : desired) {
    // The label of an image that is being pulled again is still right.
    if (candidate.id.empty()) {
      kept.insert(candidate.name);
      continue;
    }
    const std::uint64_t size =
        counted.contains(candidate.id) ? 0 : base::SaturatingMul(candidate.size_bytes, kLeastFactor);
    if (size > space - taken) {
      decision.refused[candidate.name] =
          "the images of the list that are pinned before it take at least " + base::HumanBytes(taken) +
          ", it takes " + base::HumanBytes(size) + ", and the disk rule leaves " + base::HumanBytes(space) +
          " to images: kubelet's garbage collection could not free enough room";
      continue;
    }
    taken += size;
    counted.insert(candidate.id);
    kept.insert(candidate.name);
    if (!candidate.reported && !ours.contains(candidate.name)) decision.pin.push_back(candidate.name);
  }
  std::set_difference(ours.begin(), ours.end(), kept.begin(), kept.end(), std::back_inserter(decision.unpin));
  return decision;
}

bool MayUnpin(const ImageList& list) {
  return !list.sources.empty() &&
         std::none_of(list.sources.begin(), list.sources.end(),
                      [](const ListSource& source) { return source.hash.empty() && !source.error.empty(); });
}

bool ReportsPins(std::string_view containerd_version) {
  return base::IsAtLeast(containerd_version, {1, 7, 10}) ||
         (base::IsAtLeast(containerd_version, {1, 6, 25}) && !base::IsAtLeast(containerd_version, {1, 7}));
}

}  // namespace prefetch::plan
