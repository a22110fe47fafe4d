#include "base/stamped_files.h"

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
  return StampsOf(paths_) != stamps_;
}

}  // namespace prefetch::base
