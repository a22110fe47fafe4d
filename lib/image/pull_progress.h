// PullProgress: how far one pull is. A value: lib/cri reads it, lib/plan judges it. It is here since these
// folders do not know each other.
#pragma once

#include <cstdint>

namespace prefetch::image {

// Seen through the resources of the pull's lease.
struct PullProgress {
  std::uint64_t bytes_done = 0;   // committed blobs and bytes of active ingests
  std::uint64_t bytes_total = 0;  // of the manifest for this platform; 0: not known yet
  // Changes whenever anything moved (bytes, blobs, snapshots); equal: nothing did.
  std::uint64_t fingerprint = 0;
  // A blob of it has been begun and is not complete. False while a pull waits in the runtime's own queue.
  bool active = false;
  bool unpacking = false;  // every blob of the manifest is here, the pull has not ended

  friend bool operator==(const PullProgress&, const PullProgress&) = default;
};

}  // namespace prefetch::image
