// FileStamps: has any of some files changed? Cheaper than reading them again.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "base/result.h"

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

// StampedFiles: the files behind a value that was read, and whether any of them has changed since.

// Each path is stamped before it is read. A change between the two is then seen the next time; with the stamp
// taken afterwards it would be lost for ever.
class StampedFiles {
 public:
  // As the functions of base/fs.h.
  Result<std::string> Read(const std::string& path, std::size_t max_bytes);
  Result<std::vector<std::string>> List(const std::string& folder, std::size_t max_entries);
  Result<FileKind> KindOf(const std::string& path);

  bool HaveChanged() const;

 private:
  void Stamp(const std::string& path);

  std::vector<std::string> paths_;
  std::vector<FileStamp> stamps_;
};

// A value parsed from files: the same object until one of them changes, and, for comparable values, while the
// value is the same. Not thread-safe.
template <typename Value>
class MadeOfFiles {
 public:
  // `load` is Value(StampedFiles&) and reads by its argument alone.
  template <typename Load>
  const std::shared_ptr<const Value>& Get(const Load& load) {
    if (value_ && !files_.HaveChanged()) return value_;
    StampedFiles files;
    auto value = std::make_shared<const Value>(load(files));
    files_ = std::move(files);
    if constexpr (std::equality_comparable<Value>) {
      if (value_ && *value_ == *value) return value_;
    }
    value_ = std::move(value);
    return value_;
  }

 private:
  StampedFiles files_;
  std::shared_ptr<const Value> value_;
};

}  // namespace prefetch::base
