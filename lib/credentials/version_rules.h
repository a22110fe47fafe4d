// The differences between kubelet's versions in finding credentials (A2, A3, A12, A18, A19).
#pragma once

#include <string_view>

#include "image/kubelet_version.h"

namespace prefetch::credentials {

// Unknown and duplicate fields are errors.
inline bool DecodesStrictly(image::KubeletVersion version) {
  return version >= image::KubeletVersion{1, 32};
}
// The configuration may be a directory.
inline bool ReadsConfigDirectories(image::KubeletVersion version) {
  return version >= image::KubeletVersion{1, 34};
}
// The field tokenAttributes exists.
inline bool KnowsTokenAttributes(image::KubeletVersion version) {
  return version >= image::KubeletVersion{1, 33};
}
// Its feature gate is on by default.
inline bool AllowsTokenAttributes(image::KubeletVersion version) {
  return version >= image::KubeletVersion{1, 34};
}
// Node docker config and plugins are keyrings of their own, one after the other; before, they were one, in
// which plugins stand in the order of their names.
inline bool SeparatesKeyrings(image::KubeletVersion version) {
  return version >= image::KubeletVersion{1, 33};
}
// The cache key of a Global answer.
inline std::string_view GlobalCacheKey(image::KubeletVersion version) {
  return version >= image::KubeletVersion{1, 34} ? "<global>" : "global";
}

}  // namespace prefetch::credentials
