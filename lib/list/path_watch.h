// Notices that something changed at the paths of the list: inotify. Internal to list/.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/fs.h"

namespace prefetch::list {

// Watched for each path: the directory itself (all names in it), and the directory around it (the path's own
// name, and a ConfigMap's `..data`); where that is not there yet, the nearest one above that is. What inotify
// cannot see (a mount over a directory, files behind symbolic links that lead elsewhere) the caller's poll
// finds.
//
// Owned by one thread. Nothing here fails loudly: without inotify (the node's limit is reached) it only never
// says that something changed.
class PathWatch {
 public:
  explicit PathWatch(std::vector<std::string> paths);

  // -1 without inotify. Readable: call Drain.
  int fd() const { return inotify_.get(); }

  // Watches the existing paths. True if a directory is watched now that was not before: what happened in it
  // until now was not seen. `complaint`, if not null, gets why something cannot be watched, once each.
  bool Arm(std::string* complaint);

  // Takes all events that have come. True if one of them concerns the paths.
  bool Drain();

  // The files that are open for writing, and changed less than `limit` ago: a reader may find half of one, or
  // nothing. By the events that Drain has seen.
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
  // The list files, each for itself: their directories have other files, which may change at any rate.
  std::map<int, std::string> files_;
  std::map<std::string, std::chrono::steady_clock::time_point> written_;  // not closed yet: the last change
  std::string last_complaint_;
};

}  // namespace prefetch::list
