#include "list/watcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/log.h"
#include "list/source.h"

namespace prefetch::list {

// Reports changes at the paths of the list, by inotify. For each path, the directory itself is watched (all
// names in it), and the directory around it (the path's own name, and a ConfigMap's `..data`); if that does
// not exist yet, the nearest existing one above. The caller's poll finds changes that inotify cannot see (a
// mount over a directory, files behind symbolic links that lead elsewhere).
class PathWatch {
 public:
  explicit PathWatch(std::vector<std::string> paths);

  // Returns -1 without inotify. Call Drain whenever it is readable.
  int fd() const { return inotify_.get(); }

  // Watches the existing paths. Returns true if a directory is watched now that was not before: events in it
  // until now were missed. `complaint`, if not null, gets the reason why something cannot be watched, once
  // each.
  bool Arm(std::string* complaint);

  // Takes all pending events. Returns true if one of them concerns the paths.
  bool Drain();

  // Returns the files that are open for writing and changed less than `limit` ago: a reader may find half of
  // one, or nothing. Based on the events that Drain has seen.
  std::set<std::string> BeingWritten(std::chrono::milliseconds limit);

 private:
  struct Interest {
    bool all = false;
    std::set<std::string> names;
  };

  void AddInterest(const std::string& path, std::map<std::string, Interest>& wanted) const;
  bool Concerns(int watch, unsigned mask, const std::string& name);
  void WatchFiles();

  std::vector<std::string> paths_;
  base::Fd inotify_;
  struct Watch {
    std::string directory;
    Interest interest;
  };
  std::map<int, Watch> watches_;
  // List files are watched one by one, since their directories may have other files that change at any rate.
  std::map<int, std::string> files_;
  std::map<std::string, std::chrono::steady_clock::time_point> written_;  // not closed yet: the last change
  std::string last_complaint_;
};

namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

bool Readable(int fd) {
  pollfd poll_fd{.fd = fd, .events = POLLIN, .revents = 0};
  return fd >= 0 && ::poll(&poll_fd, 1, 0) > 0;
}

// Logs only what differs from the last time, since the watcher reads everything again at each change.
void LogNew(const plan::ImageList& list, std::vector<plan::ListSource>& before) {
  for (const plan::ListSource& source : list.sources) {
    auto same_name = [&](const plan::ListSource& other) { return other.name == source.name; };
    auto known = std::ranges::find_if(before, same_name);
    if (known != before.end() && *known == source) continue;
    if (!source.error.empty()) {
      base::Err(
          "list source is not valid",
          {{"source", source.name}, {"inForce", source.loaded_at.has_value()}, {"error", source.error}});
    } else {
      base::Info("list source loaded",
                 {{"source", source.name}, {"entries", source.entries}, {"hash", source.hash}});
    }
  }
  for (const plan::ListSource& source : before) {
    auto same_name = [&](const plan::ListSource& other) { return other.name == source.name; };
    if (std::ranges::none_of(list.sources, same_name)) {
      base::Info("list source is gone", {{"source", source.name}});
    }
  }
  before = list.sources;
}

}  // namespace

ListWatcher::ListWatcher(std::vector<std::string> paths, const Capabilities& capabilities,
                         const base::Clock& clock, const WatchTiming& timing)
    : paths_(std::move(paths)),
      capabilities_(capabilities),
      clock_(clock),
      timing_(timing),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

ListWatcher::~ListWatcher() {
  std::uint64_t one = 1;
  // This cannot fail: the counter of an eventfd has room for it.
  if (::write(stop_.get(), &one, sizeof one) != sizeof one) std::abort();
  if (thread_.joinable()) thread_.join();
}

void ListWatcher::Start(Callback callback) {
  thread_ = std::thread([this, callback = std::move(callback)] { Run(callback); });
}

// Returns true if there is something to read on `inotify_fd`; false after `limit`, or when the watcher stops.
bool ListWatcher::WaitForChange(int inotify_fd, milliseconds limit) const {
  pollfd fds[] = {{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                  {.fd = inotify_fd, .events = POLLIN, .revents = 0}};
  // poll ignores a negative descriptor (no inotify), so this is then a plain wait.
  int ready = ::poll(fds, 2, static_cast<int>(limit.count()));
  return ready > 0 && fds[0].revents == 0 && fds[1].revents != 0;
}

void ListWatcher::Run(const Callback& callback) {
  ListSources sources(paths_, capabilities_, std::chrono::seconds(3), timing_.blank_grace);
  PathWatch watch(sources.paths());
  std::vector<plan::ListSource> logged;
  bool first = true;
  // Files that come one after the other and are blank do not delay the first list forever.
  const base::TimePoint hold_until = clock_.Now() + 2 * timing_.blank_grace;
  while (!Readable(stop_.get())) {
    std::string complaint;
    watch.Arm(&complaint);
    if (!complaint.empty()) {
      base::Warn("list cannot be watched; the agent polls it",
                 {{"error", complaint}, {"every", timing_.poll}});
    }
    // Events that came before this point are covered by the reading that follows.
    watch.Drain();
    const base::TimePoint now = clock_.Now();
    const bool changed_sources = sources.Refresh(clock_.Wall(), watch.BeingWritten(timing_.unclosed), now);
    // The first list waits for a file that is blank: without its entries, the node would be ready.
    const bool holds = first && now < hold_until && sources.HasNewBlank();
    if (!holds && (std::exchange(first, false) || changed_sources)) {
      plan::ImageList list = sources.List();
      LogNew(list, logged);
      callback(std::move(list));
    }
    // A directory that appeared during the reading is watched only from now on, so it must be read again.
    if (watch.Arm(nullptr)) continue;

    base::Duration until_next = timing_.poll;
    if (auto blank_at = sources.NextBlankDeadline()) {
      until_next = std::clamp<base::Duration>(*blank_at - now, milliseconds(0), until_next);
    }
    auto next_poll = steady_clock::now() + until_next;
    bool changed = false;
    while (!changed && steady_clock::now() < next_poll && !Readable(stop_.get())) {
      auto rest = duration_cast<milliseconds>(next_poll - steady_clock::now()) + milliseconds(1);
      if (WaitForChange(watch.fd(), rest)) changed = watch.Drain();
    }
    // A change usually consists of several events; reading after the first would find half of it. The
    // deadline keeps a busy directory from delaying the reading forever.
    auto latest = steady_clock::now() + timing_.debounce;
    while (changed && steady_clock::now() < latest && WaitForChange(watch.fd(), timing_.quiet)) watch.Drain();
  }
}

namespace {

// IN_MODIFY is not among these: a directory may have other files that change at any rate. Only list files are
// watched for it (WatchFiles).
constexpr std::uint32_t kMask = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE |
                                IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB;
constexpr std::size_t kEventBuffer = 16 * 1024;

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
  if (base::IsDirectory(path)) wanted[path].all = true;
  std::filesystem::path child = path;
  // Where the path does not exist yet, this finds the nearest existing directory above it, so that the
  // creation of the path is noticed.
  while (child.has_relative_path()) {
    std::filesystem::path parent = child.parent_path();
    if (base::IsDirectory(parent.string())) {
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
