// Pins: the images that kubelet's garbage collection must spare (`pin: true`). Pure.
//
// containerd's CRI reports an image as pinned while any of its names has a label (containerd#6930, and its
// reviews #7944, #8867 and #9338). The agent labels one name: the entry's own. A pull of the
// name removes the label, and so does the removal of the name; the agent sets it again. A second label names
// the agent. So a restarted agent knows its pins from containerd itself, and it never takes away another's
// pin, such as the sandbox image's.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plan/desired.h"
#include "plan/disk_budget.h"
#include "plan/limits.h"

namespace prefetch::plan {

// An entry with `pin: true`.
struct DesiredPin {
  std::string name;              // normalised
  std::string id;                // of the image; empty: it is not here as it should be
  std::uint64_t size_bytes = 0;  // compressed
  bool reported = false;         // the runtime calls it pinned, by this agent's label or by another's
};

struct PinDecision {
  std::vector<std::string> pin, unpin;         // names
  std::map<std::string, std::string> refused;  // names, and why they are not pinned

  friend bool operator==(const PinDecision&, const PinDecision&) = default;
};

// `desired` is in the order of the list: the first are pinned if there is not room for all. `ours`: the names
// that this agent has pinned.
//
// kubelet frees no room by removing pinned images. If they took more than the disk rule allows images to take
// at all, its garbage collection could not succeed, and kubelet would evict pods instead. Pins therefore stay
// within the rule: an image takes at least twice its compressed size.
PinDecision DecidePins(const std::vector<DesiredPin>& desired, const std::set<std::string>& ours,
                       const DiskSpace& disk, const Limits& limits);

// Returns false while the list has no source, or one without a version in force, as after a start with an
// empty folder or a broken file: an entry that is missing then is not known to be unwanted.
bool MayUnpin(const ImageList& list);

// Returns true if this containerd's CRI follows labels that are set after a pull: 1.6.25, 1.7.10, 2.0 and
// later. False for text that is no version.
bool ReportsPins(std::string_view containerd_version);

}  // namespace prefetch::plan
