// What `crictl images -o json` prints: the images of a node, by all their names. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "doc/problems.h"
#include "image/reference.h"

namespace prefetch::config {

// By tag, or by digest for an image that has no tag any more. `problems` gets what makes the text no such
// document; names in it that are none ("<none>:<none>") are passed over.
std::vector<image::Reference> ReadCrictlImages(std::string_view json, doc::Problems& problems);

}  // namespace prefetch::config
