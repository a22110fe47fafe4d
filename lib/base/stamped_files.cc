#include "base/stamped_files.h"

#include <sys/stat.h>

namespace prefetch::base {

void StampedFiles::Stamp(const std::string& path) {
  paths_.push_back(path);
  stamps_.push_back(StampOf(path));
}

Result<std::string> StampedFiles::Read(const std::string& path, std::size_t max_bytes) {
  Stamp(path);
  return ReadFile(path, max_bytes);
}

Result<std::vector<std::string>> StampedFiles::List(const std::string& folder, std::size_t max_entries) {
  Stamp(folder);
  return ListDirectory(folder, max_entries);
}

Result<FileKind> StampedFiles::KindOf(const std::string& path) {
  Stamp(path);
  return base::KindOf(path);
}

bool StampedFiles::HaveChanged() const {
  // Any difference counts, an older time as well: tools that restore a file set its old time.
  return StampsOf(paths_) != stamps_;
}

namespace {

std::int64_t Nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

FileStamp StampOf(const std::string& path) {
  struct stat info {};
  // An absent file has a stamp, too, so that its appearance is a change.
  if (::stat(path.c_str(), &info) != 0) return {};
  return {.device = info.st_dev,
          .inode = info.st_ino,
          .size = static_cast<std::uint64_t>(info.st_size),
          .modified_ns = Nanoseconds(info.st_mtim),
          .changed_ns = Nanoseconds(info.st_ctim)};
}

std::vector<FileStamp> StampsOf(const std::vector<std::string>& paths) {
  std::vector<FileStamp> stamps;
  for (const std::string& path : paths) stamps.push_back(StampOf(path));
  return stamps;
}

}  // namespace prefetch::base
