#include "cri/generation.h"

#include <sys/stat.h>

namespace prefetch::cri {
namespace {

// Returns a number for the file at `path`; 0 if there is none. An inode's number may be used again, and then
// has another time of change.
std::uint64_t IdentityOf(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return 0;
  std::uint64_t identity = 0;
  for (std::uint64_t part :
       {static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino),
        static_cast<std::uint64_t>(info.st_ctim.tv_sec), static_cast<std::uint64_t>(info.st_ctim.tv_nsec)}) {
    identity = (identity ^ part) * 0x9e3779b97f4a7c15;  // 2^64 divided by the golden ratio
    identity ^= identity >> 32;
  }
  return identity == 0 ? 1 : identity;
}

}  // namespace

std::uint64_t Generation::Now() {
  // A socket that is absent for a moment shows no new daemon. The next file is compared with the one before.
  if (std::uint64_t now = IdentityOf(socket_path_); now != 0) {
    std::uint64_t before = socket_.exchange(now);
    if (before != 0 && before != now) Raise();
  }
  return count_;
}

}  // namespace prefetch::cri
