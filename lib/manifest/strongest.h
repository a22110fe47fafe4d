// Combines the uses of one image by several containers.
#pragma once

#include <string>
#include <vector>

#include "manifest/image_use.h"

namespace prefetch::manifest {

struct WantedImage {
  std::string image;  // as the first use with the strongest policy has written it
  image::PullPolicy policy = image::PullPolicy::kIfNotPresent;
  std::vector<ImageUse> wanted_by;  // never empty; in the order in which they were given
};

// Returns each image of `uses` once, with the strongest policy of its uses (Always > IfNotPresent > Never),
// in the order of first use. Two spellings of one normalised name are one image; invalid names are the same
// if their bytes are. Pure.
std::vector<WantedImage> Strongest(const std::vector<ImageUse>& uses);

}  // namespace prefetch::manifest
