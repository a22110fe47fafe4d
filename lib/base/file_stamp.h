// FileStamps: has any of some files changed? Cheaper than reading them again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace prefetch::base {

// The facts of stat(2) about a path, through symbolic links. A value; {} if it does not exist.
struct FileStamp {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t modified_ns = 0, changed_ns = 0;

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// Where it gives {}, errno says why.
FileStamp StampOf(const std::string& path);
std::vector<FileStamp> StampsOf(const std::vector<std::string>& paths);

}  // namespace prefetch::base
