#include "kubelet/drop_ins.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/fs.h"

namespace prefetch::kubelet {
namespace {

// Bounds of one walk. It runs at each poll of kubelet's configuration, so a path that leads to a huge folder
// must not cost more.
constexpr std::size_t kMaxEntries = 1000;
constexpr std::size_t kDeepest = 16;

std::int64_t Nanoseconds(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

ConfigStamp ToStamp(const struct stat& info) {
  return {.device = info.st_dev,
          .inode = info.st_ino,
          .size = static_cast<std::uint64_t>(info.st_size),
          .modified_ns = Nanoseconds(info.st_mtim),
          .changed_ns = Nanoseconds(info.st_ctim)};
}

// One walk. The depth limit bounds the recursion.
class Walk {
 public:
  base::Status Visit(const std::string& path, std::size_t depth) {
    struct stat info {};
    if (++entries_ > kMaxEntries || depth > kDeepest) {
      return base::ResourceExhausted("more than " + std::to_string(kMaxEntries) + " entries or " +
                                     std::to_string(kDeepest) + " levels");
    }
    // lstat, so that a link to a directory is not followed, as with kubelet. A loop is impossible then.
    if (::lstat(path.c_str(), &info) != 0) return base::FromErrno(errno, "stat " + path);
    if (S_ISDIR(info.st_mode)) return VisitDirectory(path, depth);
    if (!path.ends_with(".conf")) return {};
    found_.push_back({path, S_ISLNK(info.st_mode) ? StampOf(path) : ToStamp(info)});
    return {};
  }

  std::vector<DropIn> Take() { return std::move(found_); }

 private:
  base::Status VisitDirectory(const std::string& path, std::size_t depth) {
    // ListDirectory sorts by name, which is kubelet's order (K48).
    auto names = base::ListDirectory(path, kMaxEntries);
    if (!names) return std::move(names).error();
    for (const std::string& name : *names) {
      std::string below = path;
      below.append(path.ends_with('/') ? "" : "/").append(name);
      if (base::Status visited = Visit(below, depth + 1); !visited) return visited;
    }
    return {};
  }

  std::size_t entries_ = 0;
  std::vector<DropIn> found_;
};

}  // namespace

ConfigStamp StampOf(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {.error = errno};
  return ToStamp(info);
}

base::Result<std::vector<DropIn>> ListDropIns(const std::string& folder) {
  Walk walk;
  if (base::Status visited = walk.Visit(folder, 0); !visited) return std::move(visited).error();
  return walk.Take();
}

}  // namespace prefetch::kubelet
