#include "kubelet/start_file.h"

#include <chrono>

#include "base/stamped_files.h"

namespace prefetch::kubelet {

std::string StartFileOf(const std::string& runtime_socket) {
  return runtime_socket.find("/run/k3s/") != std::string::npos ? runtime_socket : "";
}

bool StartFile::Poll() {
  if (path_.empty()) return false;
  const base::FileStamp stamp = base::StampOf(path_);
  if (stamp == base::FileStamp{}) return false;
  // ctime does not serve: a socket gets its mode and owner after it was created. The inode alone may be
  // reused.
  std::string now = std::to_string(stamp.inode) + "@" + std::to_string(stamp.modified_ns);
  if (now == seen_) return false;
  seen_ = std::move(now);
  made_ns_ = stamp.modified_ns;
  return true;
}

std::optional<base::WallTime> StartFile::MadeAt() const {
  if (seen_.empty()) return std::nullopt;
  return base::WallTime(
      std::chrono::duration_cast<base::WallTime::duration>(std::chrono::nanoseconds(made_ns_)));
}

}  // namespace prefetch::kubelet
