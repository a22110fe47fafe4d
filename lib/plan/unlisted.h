// Unlisted: names of images that came to the node while the agent looked, and are on no list. They show what
// the list is missing, before a pod breaks. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "image/local_image.h"
#include "plan/desired.h"

namespace prefetch::plan {

// More are counted and not named, so that a node on which everything is unlisted costs no memory.
constexpr std::size_t kMostUnlisted = 1000;

struct UnlistedImage {
  std::string image;  // as the runtime has it: normalised
  std::string image_id;
  std::uint64_t size_bytes = 0;
  // The first and the newest time that it came. None: a document of another agent does not tell.
  std::optional<base::WallTime> first_seen, arrived_at;
  bool present = true;  // still there

  friend bool operator==(const UnlistedImage&, const UnlistedImage&) = default;
};

struct Unlisted {
  base::WallTime since;               // time of the first poll: images that were there then are no arrivals
  std::vector<UnlistedImage> images;  // as they came
  std::uint64_t left_out = 0;         // arrivals that found no place

  friend bool operator==(const Unlisted&, const Unlisted&) = default;
};

// The state between two polls. A value.
struct Arrivals {
  std::optional<Unlisted> unlisted;   // none before the first poll
  std::vector<std::uint64_t> known;   // hashes of all names of the poll before, sorted
  std::vector<std::uint64_t> listed;  // hashes of the list's names at the poll before, sorted
};

// Applies one answer of the runtime. A name counts as having come if it was not there at the poll before; a
// name by digest only if the image has no tag in that repository, since a pull by tag brings both. Not
// counted: images that are on the list, or were when they came; images that the runtime's operator has pinned
// (the sandbox image); names that match `ignore` (image/reference.h). Names that are put on the list later
// are forgotten. An image that came and went between two polls is not seen.
Arrivals AfterPoll(Arrivals before, const std::vector<image::LocalImage>& images, const ImageList& list,
                   const std::vector<std::string>& ignore, base::WallTime now);

}  // namespace prefetch::plan
