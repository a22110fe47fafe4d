// The list, live: a thread that reads it again when its files change.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/fs.h"
#include "list/image_list.h"
#include "plan/desired.h"

namespace prefetch::list {

struct WatchTiming {
  // inotify reports at once; this finds changes that it cannot see (a mount over a directory).
  std::chrono::milliseconds poll{10'000};
  // A change is often several events (write a new file, rename it, delete the old one). The list is read when
  // it has been quiet for so long, and at the latest after `patience`.
  std::chrono::milliseconds quiet{10};
  std::chrono::milliseconds patience{50};
  // A file that is open for writing is read when it is closed, or when nothing was written for so long, since
  // some writers never close it. Until then, the last version stays in force.
  std::chrono::milliseconds unclosed{60'000};
};

// Owned by main; lives until its destructor, which stops the thread and waits for it (milliseconds).
class ListWatcher {
 public:
  // Called on the watcher's thread: first with the list as it is at the start, then whenever the content or
  // an error of a source has changed. Must not block for long, and not destroy the watcher.
  using Callback = std::function<void(plan::ImageList list)>;

  // `clock` (for ListSource::loaded_at) outlives the watcher.
  ListWatcher(std::vector<std::string> paths, const Capabilities& capabilities, const base::Clock& clock,
              const WatchTiming& timing = {});
  ~ListWatcher();
  ListWatcher(const ListWatcher&) = delete;
  ListWatcher& operator=(const ListWatcher&) = delete;

  // Once.
  void Start(Callback callback);

 private:
  void Run(const Callback& callback);
  bool WaitForChange(int inotify_fd, std::chrono::milliseconds limit) const;

  std::vector<std::string> paths_;
  Capabilities capabilities_;
  const base::Clock& clock_;
  WatchTiming timing_;
  base::Fd stop_;  // an eventfd: readable once the thread has to end
  std::thread thread_;
};

}  // namespace prefetch::list
