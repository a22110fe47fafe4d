// Notices that something changed at the paths of the list: inotify. Internal to list/.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/fs.h"

namespace prefetch::list {

// For each path, the directory itself is watched (all names in it), and the directory around it (the path's
// own name, and a ConfigMap's `..data`); if that does not exist yet, the nearest existing one above. The
// caller's poll finds changes that inotify cannot see (a mount over a directory, files behind symbolic links
// that lead elsewhere).
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

}  // namespace prefetch::list
