#include "plan/pins.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <optional>

#include "base/text.h"

namespace prefetch::plan {
namespace {

// The blobs, and at least as much unpacked (plan/disk_budget.h).
constexpr std::uint64_t kLeastFactor = 2;

std::uint64_t RoomForImages(const DiskSpace& disk, const Limits& limits) {
  // As everywhere in the disk rule, nothing is refused if the filesystem cannot be measured.
  if (!disk.known) return std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t kept_free = KeptFree(disk, limits);
  return disk.capacity_bytes > kept_free ? disk.capacity_bytes - kept_free : 0;
}

}  // namespace

PinDecision DecidePins(const std::vector<PinWish>& wishes, const std::set<std::string>& ours,
                       const DiskSpace& disk, const Limits& limits) {
  PinDecision decision;
  std::set<std::string> kept;     // names whose label stays
  std::set<std::string> counted;  // ids: names of one image share its content
  const std::uint64_t room = RoomForImages(disk, limits);
  std::uint64_t taken = 0;
  for (const PinWish& wish : wishes) {
    // The label of an image that is being pulled again is still right.
    if (wish.id.empty()) {
      kept.insert(wish.name);
      continue;
    }
    const std::uint64_t size = counted.contains(wish.id) ? 0 : kLeastFactor * wish.size_bytes;
    if (size > room - taken) {
      decision.refused[wish.name] = "the images of the list that are pinned before it take at least " +
                                    base::HumanBytes(taken) + ", it takes " + base::HumanBytes(size) +
                                    ", and the disk rule leaves " + base::HumanBytes(room) +
                                    " to images: kubelet's garbage collection could not free enough room";
      continue;
    }
    taken += size;
    counted.insert(wish.id);
    kept.insert(wish.name);
    if (!wish.reported && !ours.contains(wish.name)) decision.pin.push_back(wish.name);
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
  if (containerd_version.starts_with('v')) containerd_version.remove_prefix(1);
  std::array<std::uint64_t, 3> parts{};
  for (std::uint64_t& part : parts) {
    const std::size_t end =
        std::min(containerd_version.find_first_not_of("0123456789"), containerd_version.size());
    std::optional<std::uint64_t> number = base::ParseUint(containerd_version.substr(0, end));
    if (!number) return false;
    part = *number;
    containerd_version.remove_prefix(std::min(end + 1, containerd_version.size()));
  }
  if (parts[0] != 1) return parts[0] > 1;
  return parts[1] > 7 || (parts[1] == 7 && parts[2] >= 10) || (parts[1] == 6 && parts[2] >= 25);
}

}  // namespace prefetch::plan
