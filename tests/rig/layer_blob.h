// The bytes of a test image's layer.
#pragma once

#include <string>
#include <string_view>

#include "rig/images.h"

namespace prefetch::rig {

struct LayerBlob {
  std::string bytes;    // the gzipped tar
  std::string digest;   // of `bytes`
  std::string diff_id;  // of the tar inside
};

LayerBlob MakeLayer(const Layer& layer);

// "sha256:…"
std::string DigestOf(std::string_view bytes);

}  // namespace prefetch::rig
