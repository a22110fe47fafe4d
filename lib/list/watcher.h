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
  // Interval of readings without an event. inotify reports at once; polls find changes that it cannot see (a
  // mount over a directory).
  std::chrono::milliseconds poll{10'000};
  // A change is often several events (write a new file, rename it, delete the old one). The watcher reads the
  // list after this time without events, and at the latest after `debounce`.
  std::chrono::milliseconds quiet{10};
  std::chrono::milliseconds debounce{50};
  // Time without a write after which an open file counts as complete, since some writers never close it. The
  // watcher reads it when it is closed, or after this time. Until then, the last version stays in force.
  std::chrono::milliseconds unclosed{60'000};
  // How long a file must stay blank before it counts as an empty list. Its writer may be about to fill it.
  std::chrono::milliseconds blank_grace{2'000};
};

// Owned by main; lives until its destructor, which stops the thread and waits for it (milliseconds).
class ListWatcher {
 public:
  // The watcher calls it on its own thread: first with the list as it is at the start, then whenever the
  // content or an error of a source has changed. The callback must not block for long, and must not destroy
  // the watcher.
  using Callback = std::function<void(plan::ImageList list)>;

  // `clock` (for ListSource::loaded_at, and WatchTiming::blank_grace) outlives the watcher.
  ListWatcher(std::vector<std::string> paths, const Capabilities& capabilities, const base::Clock& clock,
              const WatchTiming& timing = {});
  ~ListWatcher();
  ListWatcher(const ListWatcher&) = delete;
  ListWatcher& operator=(const ListWatcher&) = delete;

  // Starts the thread. Call it once.
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
