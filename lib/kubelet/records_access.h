// RecordsAccess: the state of kubelet's image_manager folder as a whole. Pure.
#pragma once

namespace prefetch::kubelet {

enum class RecordsAccess {
  kReadable,
  kNoFolder,  // the root is there and has no image_manager: an old kubelet, or one whose gate is off
  kNoRoot,    // kubelet's root directory is not there
  kForbidden,
  kReplaced,  // RecordsFolderIsReplaced
};

}  // namespace prefetch::kubelet
