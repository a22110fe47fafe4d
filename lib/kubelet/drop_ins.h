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

// Every file below `folder` whose name ends in .conf, by name within each directory, a directory's own files
// at the place of its name. Links to files are followed, links to directories are not (kubelet walks
// likewise, even where `folder` itself is such a link: nothing is found), so that no loop can be. NotFound
// and PermissionDenied as the system says; ResourceExhausted beyond 1000 entries or 16 levels.
base::Result<std::vector<DropIn>> ListDropIns(const std::string& folder);

}  // namespace prefetch::kubelet
