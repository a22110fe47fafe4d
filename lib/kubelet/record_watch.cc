#include "kubelet/record_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "base/log.h"

namespace prefetch::kubelet {
namespace {

using std::chrono::steady_clock;

// One change often causes several events. They are reported together after this quiet time, or after
// kDebounce at the latest.
constexpr int kQuietMs = 5;
constexpr std::chrono::milliseconds kDebounce{50};
// Interval at which missing folders are looked for. It also finds what inotify cannot see.
constexpr int kRearmMs = 10'000;

constexpr std::uint32_t kFolderMask = IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE_SELF |
                                      IN_MOVE_SELF | IN_ATTRIB | IN_ONLYDIR;
constexpr std::uint32_t kFilesMask = kFolderMask | IN_CLOSE_WRITE;

// kubelet writes `<name>.tmp` and renames it (K14). Only the rename matters.
bool IsTemporary(const std::string& name) {
  return name.ends_with(".tmp");
}

// The watches on the folders that are there.
class Watches {
 public:
  explicit Watches(const std::string& root)
      : inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
        ways_{root, root + "/image_manager"},
        files_{root + "/image_manager/pulled", root + "/image_manager/pulling"} {}

  int fd() const { return inotify_.get(); }

  // Returns true if a folder is watched that was not watched before: events in it until now were not seen, so
  // everything has to be read again.
  bool Arm() {
    std::map<int, bool> now;
    bool added = false;
    auto watch = [&](const std::string& path, std::uint32_t mask, bool files) {
      int id = ::inotify_add_watch(inotify_.get(), path.c_str(), mask);
      if (id < 0) {
        // The limit of inotify watches on this node is reached. The agent's regular polls still find every
        // change, and one warning is enough.
        if ((errno == ENOSPC || errno == ENOMEM) && !std::exchange(complained_, true)) {
          base::Warn("kubelet's records cannot be watched; the agent polls them",
                     {{"folder", path}, {"error", std::strerror(errno)}});
        }
        return;
      }
      added = added || !watches_.contains(id);
      now[id] = files;
    };
    for (const std::string& path : ways_) watch(path, kFolderMask, false);
    for (const std::string& path : files_) watch(path, kFilesMask, true);
    watches_ = std::move(now);
    return added;
  }

  // Returns all events that have come. The descriptor does not block.
  FileChanges Drain() {
    FileChanges changes;
    alignas(inotify_event) std::array<char, 16 * 1024> buffer;
    while (true) {
      ssize_t length = ::read(inotify_.get(), buffer.data(), buffer.size());
      if (length <= 0) return changes;
      for (std::size_t at = 0; at < static_cast<std::size_t>(length);) {
        inotify_event event;
        std::memcpy(&event, buffer.data() + at, sizeof event);
        // The name is padded with zeros to the event's length.
        std::string name = event.len > 0 ? buffer.data() + at + sizeof event : "";
        at += sizeof event + event.len;
        AddChange(event, name, changes);
      }
    }
  }

 private:
  void AddChange(const inotify_event& event, const std::string& name, FileChanges& changes) const {
    auto found = watches_.find(event.wd);
    bool overflow = (event.mask & IN_Q_OVERFLOW) != 0;
    // This is an event of a watch that Arm() has dropped.
    if (!overflow && found == watches_.end()) return;
    if (overflow || name.empty()) {
      changes.all = true;  // unknown files; or the folder itself: gone, moved, other permissions
    } else if (!found->second) {
      changes.all = changes.all || name == "image_manager" || name == "pulled" || name == "pulling";
    } else if (!IsTemporary(name)) {
      changes.names.insert(name);
    }
  }

  base::Fd inotify_;
  std::vector<std::string> ways_, files_;
  std::map<int, bool> watches_;  // by its id: are the files in it what we look for
  bool complained_ = false;
};

}  // namespace

RecordWatch::RecordWatch(std::string root, Callback callback)
    : stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this, root = std::move(root), callback = std::move(callback)] { Run(root, callback); }) {}

RecordWatch::~RecordWatch() {
  std::uint64_t one = 1;
  // The write cannot fail: the counter of an eventfd has room for it.
  if (::write(stop_.get(), &one, sizeof one) != sizeof one) std::abort();
  thread_.join();
}

// Returns true if there is something to read on `inotify_fd`; false after `milliseconds`, or if the thread
// has to end.
bool RecordWatch::Wait(int inotify_fd, int milliseconds) const {
  pollfd fds[] = {{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                  {.fd = inotify_fd, .events = POLLIN, .revents = 0}};
  // A negative descriptor is passed over by poll.
  return ::poll(fds, 2, milliseconds) > 0 && fds[0].revents == 0 && fds[1].revents != 0;
}

void RecordWatch::Run(const std::string& root, const Callback& callback) {
  Watches watches(root);
  pollfd stop{.fd = stop_.get(), .events = POLLIN, .revents = 0};
  while (::poll(&stop, 1, 0) == 0) {
    FileChanges changes;
    // A folder that was created while the watches were armed may have another one in it already.
    while (watches.Arm()) changes.all = true;
    if (!changes.all && !Wait(watches.fd(), kRearmMs)) continue;
    auto latest = steady_clock::now() + kDebounce;
    do {
      changes.Add(watches.Drain());
      // This pause is not ended by the next event: a file that is rewritten all the time would wake the
      // thread for each write.
      ::poll(&stop, 1, kQuietMs);
    } while (steady_clock::now() < latest && Wait(watches.fd(), 0));
    if (changes.all || !changes.names.empty()) callback(std::move(changes));
  }
}

}  // namespace prefetch::kubelet
