// Images that are named in files of any kind, found by a marker that people put beside them. Pure.
//
//   FROM quay.io/acme/builder:v3      # prefetch
//
//   // prefetch
//   const helper = "quay.io/acme/helper:v1"
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doc/problems.h"
#include "image/reference.h"

namespace prefetch::config {

struct MarkedImage {
  image::Reference reference;
  doc::Position at;
};

// The first image name in each line that has `marker`, or, where that line has none, in the next line that is
// not blank. A name is a word (what stands between blanks, quotes, brackets, commas, semicolons and equals
// signs) that begins with a registry or has a tag or digest; one with a registry goes first. A marker that
// has none is a mistake, since an image would be forgotten silently.
std::vector<MarkedImage> ReadMarkedImages(std::string_view text, std::string_view marker,
                                          doc::Problems& problems);

}  // namespace prefetch::config
