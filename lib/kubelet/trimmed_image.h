// TrimmedImage: the key under which a record names a repository (K17).
#pragma once

#include <string>

#include "image/kubelet_version.h"
#include "image/reference.h"

namespace prefetch::kubelet {

// Since 1.36 the pod's own spelling, without digest and tag: "nginx"; before, the normalised repository:
// "docker.io/library/nginx". Pure.
std::string TrimmedImage(const image::Reference& image, image::KubeletVersion version);
// The name as written, without digest and tag.
std::string WrittenRepository(const image::Reference& image);

}  // namespace prefetch::kubelet
