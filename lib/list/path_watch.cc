#include "list/path_watch.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "list/image_list.h"

namespace prefetch::list {
namespace {

// IN_MODIFY is not among these: a directory may have other files that change at any rate. Only list files are
// watched for it (WatchFiles).
constexpr std::uint32_t kMask = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE |
                                IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB;
constexpr std::size_t kEventBuffer = 16 * 1024;

bool IsDirectory(const std::string& path) {
  base::Result<base::FileKind> kind = base::KindOf(path);
  return kind && *kind == base::FileKind::kDirectory;
}

// A new regular file is not read before its writer closes it. A symbolic link is complete at once.
bool IsRegularFile(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

// A hard link adds a name to a file that is complete already.
bool IsOnlyName(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && info.st_nlink == 1;
}

}  // namespace

PathWatch::PathWatch(std::vector<std::string> paths)
    : paths_(std::move(paths)), inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

void PathWatch::AddInterest(const std::string& path, std::map<std::string, Interest>& wanted) const {
  if (IsDirectory(path)) wanted[path].all = true;
  std::filesystem::path child = path;
  // Where the path does not exist yet, this finds the nearest existing directory above it, so that the
  // creation of the path is noticed.
  while (child.has_relative_path()) {
    std::filesystem::path parent = child.parent_path();
    if (IsDirectory(parent.string())) {
      Interest& interest = wanted[parent.string()];
      interest.names.insert(child.filename().string());
      // kubelet publishes a new version of a ConfigMap by renaming ..data.
      if (child == path) interest.names.insert("..data");
      return;
    }
    child = parent;
  }
}

bool PathWatch::Arm(std::string* complaint) {
  if (!inotify_.valid()) {
    // Each complaint is reported once: Arm runs at every poll.
    if (complaint != nullptr && last_complaint_.empty())
      *complaint = last_complaint_ = "inotify is not available";
    return false;
  }
  std::map<std::string, Interest> wanted;
  for (const std::string& path : paths_) AddInterest(path, wanted);
  std::map<int, Watch> watches;
  bool added = false;
  std::string problem;
  for (auto& [directory, interest] : wanted) {
    int watch = ::inotify_add_watch(inotify_.get(), directory.c_str(), kMask | IN_ONLYDIR);
    if (watch < 0) {
      problem = "watch " + directory + ": " + std::strerror(errno);
      continue;
    }
    // Two paths may lead to one directory, which then has one watch.
    auto [at, is_new] = watches.emplace(watch, Watch{directory, interest});
    if (!is_new) {
      at->second.interest.all |= interest.all;
      at->second.interest.names.insert(interest.names.begin(), interest.names.end());
    }
    // For a directory that is watched already, inotify returns the same number. A new number, or a wider
    // interest, means that events before now were missed.
    auto before = watches_.find(watch);
    added |= before == watches_.end() || (interest.all && !before->second.interest.all);
  }
  for (const auto& watch : watches_) {
    if (watches.find(watch.first) == watches.end()) ::inotify_rm_watch(inotify_.get(), watch.first);
  }
  watches_ = std::move(watches);
  WatchFiles();
  if (complaint != nullptr && problem != last_complaint_) *complaint = problem;
  last_complaint_ = problem;
  return added;
}

// Watches the list files that exist now. For a file that is watched already, inotify returns its old number.
void PathWatch::WatchFiles() {
  std::map<int, std::string> files;
  auto add = [&](const std::string& path) {
    if (!IsRegularFile(path)) return;
    int watch = ::inotify_add_watch(inotify_.get(), path.c_str(), IN_MODIFY);
    if (watch >= 0) files[watch] = path;
  };
  for (const std::string& path : paths_) {
    add(path);
    auto names = base::ListDirectory(path, kMostDirectoryEntries);
    if (!names) continue;
    for (const std::string& name : *names) {
      if (IsListFileName(name)) add(path + "/" + name);
    }
  }
  for (const auto& [watch, path] : files_) {
    if (files.find(watch) == files.end()) ::inotify_rm_watch(inotify_.get(), watch);
  }
  files_ = std::move(files);
}

std::set<std::string> PathWatch::BeingWritten(std::chrono::milliseconds limit) {
  auto now = std::chrono::steady_clock::now();
  // Some writers never close their file. After `limit` without a change it counts as complete.
  std::erase_if(written_, [&](const auto& file) { return now - file.second > limit; });
  std::set<std::string> paths;
  for (const auto& [path, when] : written_) paths.insert(path);
  return paths;
}

bool PathWatch::Concerns(int watch, unsigned mask, const std::string& name) {
  if (auto file = files_.find(watch); file != files_.end()) {
    // A change of an open file does not concern the reader yet; the IN_CLOSE_WRITE of its directory will.
    if ((mask & IN_MODIFY) != 0) written_[file->second] = std::chrono::steady_clock::now();
    return false;
  }
  auto found = watches_.find(watch);
  if (found == watches_.end()) return false;
  // After these events the kernel drops the watch, or has lost events: everything must be read again.
  if ((mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_Q_OVERFLOW | IN_UNMOUNT)) != 0) return true;
  if (!found->second.interest.all && found->second.interest.names.count(name) == 0) return false;
  std::string path = found->second.directory + "/" + name;
  if ((mask & (IN_CREATE | IN_ATTRIB)) == IN_CREATE && IsRegularFile(path)) {
    if (IsOnlyName(path)) written_[path] = std::chrono::steady_clock::now();
    return false;
  }
  if ((mask & IN_ATTRIB) == 0)
    written_.erase(path);  // Its writer has closed the file, or another file has taken the name. IN_ATTRIB
                           // alone (a chmod) says nothing about writing.
  return true;
}

bool PathWatch::Drain() {
  alignas(inotify_event) std::array<char, kEventBuffer> buffer;
  bool concerns = false;
  while (true) {
    ssize_t length = ::read(inotify_.get(), buffer.data(), buffer.size());
    if (length <= 0) return concerns;
    for (std::size_t at = 0; at < static_cast<std::size_t>(length);) {
      inotify_event event;
      std::memcpy(&event, buffer.data() + at, sizeof event);
      // The name is padded with zeros to the event's length.
      std::string name = event.len > 0 ? buffer.data() + at + sizeof event : "";
      if ((event.mask & IN_Q_OVERFLOW) != 0) concerns = true;
      if (Concerns(event.wd, event.mask, name)) concerns = true;
      at += sizeof event + event.len;
    }
  }
}

}  // namespace prefetch::list
