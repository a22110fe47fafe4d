// Facts about one image that the runtime has: the names that match a reference, its platform, and whether a
// container starts from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/call.h"
#include "cri/content_service.h"
#include "cri/image_service.h"
#include "image/local_image.h"
#include "image/platform.h"
#include "image/reference.h"
#include "plan/observation.h"

namespace prefetch::pulling {

// Returns true if a container starts from the content that the runtime has under that id. It does not start
// from an artifact, or from what a failed pull has left. `only_unpacked`: only unpacked content counts, not
// content that the runtime could still unpack, as for an architecture that is not the node's own (IsForeign).
// A runtime that cannot tell is believed: only containerd lists what a failed pull has left. An error means
// that the runtime is away.
cri::CallResult<bool> IsStartable(const base::Call& call, cri::ContentService& content, const std::string& id,
                                  const std::string& chain_id, bool only_unpacked);
bool IsForeign(const image::Platform& node, const cri::ImageDetails& details);

// Returns the facts about an image under the name `reference`. `names`: all names of the image.
plan::Local ToLocal(const image::LocalImage& image, const image::Reference& reference,
                    const std::vector<std::string>& names);
// Adds what only ImageStatus tells: the platform (if it is known) and whether it runs on `node`, and whether
// the image is an artifact.
void AddDetails(const image::Platform& node, const std::optional<image::Platform>& platform, bool artifact,
                plan::Local& local);

}  // namespace prefetch::pulling
