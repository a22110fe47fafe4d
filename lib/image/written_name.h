// Facts from an image's name as written, before it is normalised. Pure.
#pragma once

#include <string_view>

namespace prefetch::image {

// "nginx" of "nginx:1.27", "reg:5000/a" of "reg:5000/a@sha256:…": what kubelet 1.36 keeps its records by
// (1.36: pkg/kubelet/images, the image without tag and digest).
std::string_view WrittenName(std::string_view image);

// Does the name begin with a registry, as everybody decides it: by a dot, a colon or "localhost" before the
// first slash?
bool NamesRegistry(std::string_view image);

}  // namespace prefetch::image
