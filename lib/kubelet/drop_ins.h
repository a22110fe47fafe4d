// The files in kubelet's --config-dir, in kubelet's order (K48). Internal to
// kubelet/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace prefetch::kubelet {

// Shows that a file has changed, without reading it. A value; `error` is stat's errno where it failed.
struct ConfigStamp {
  int error = 0;
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t modified_ns = 0, changed_ns = 0;

  friend bool operator==(const ConfigStamp&, const ConfigStamp&) = default;
};

// Through symbolic links.
ConfigStamp StampOf(const std::string& path);

struct DropIn {
  std::string path;
  ConfigStamp stamp;

  friend bool operator==(const DropIn&, const DropIn&) = default;
};

// Returns every file below `folder` whose name ends in .conf. Each directory is sorted by name, and the files
// of a subdirectory stand at the place of its name. Links to files are followed; links to directories are
// not, as in kubelet, so that there is no loop. If `folder` itself is such a link, nothing is found. Returns
// NotFound and PermissionDenied as the system reports them, and ResourceExhausted beyond 1000 entries or 16
// levels.
base::Result<std::vector<DropIn>> ListDropIns(const std::string& folder);

}  // namespace prefetch::kubelet
