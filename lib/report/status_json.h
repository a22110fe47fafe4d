// The status document: what GET /v1/status answers. Fields are only ever added.
//
// A fact that this version does not gather is null and has a neighbour that says why: "registry": null,
// "registryReason": "…". So a reader can tell "no" from "not known".
#pragma once

#include <optional>
#include <string>

#include "image/reference.h"
#include "plan/snapshot.h"
#include "report/image_detail.h"

namespace prefetch::report {

// One line with a newline at its end. Pure; any thread.
std::string StatusJson(const plan::Snapshot& snapshot);

// The state of an entry of the list; nullptr if the list does not name the image. As long as the Snapshot.
const plan::ImageState* FindImage(const plan::Snapshot& snapshot, const image::Reference& reference);

// One image in full, for GET /v1/images/REF (kind ImageStatus). `image` need not be on the list.
std::string ImageJson(const plan::Snapshot& snapshot, const plan::ImageState& image,
                      const ImageDetail& detail);

}  // namespace prefetch::report
