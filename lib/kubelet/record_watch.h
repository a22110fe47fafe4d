// RecordWatch: tells when kubelet's records change, by inotify.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "base/fs.h"
#include "kubelet/verdict_reader.h"

namespace prefetch::kubelet {

// Watches <root>/image_manager/pulled and /pulling, and those of their parents that exist. inotify does not
// report everything (the node has no watch left, the root is mounted later), so the caller must also poll;
// the watch never fails. Calls back at most about 20 times a second, however fast files are rewritten.
//
// Owned by main. The destructor stops the thread and waits for it (milliseconds).
class RecordWatch {
 public:
  // Called on the watch's thread. The callback must not block, and must not destroy the watch.
  using Callback = std::function<void(FileChanges)>;

  RecordWatch(std::string root, Callback callback);
  ~RecordWatch();
  RecordWatch(const RecordWatch&) = delete;
  RecordWatch& operator=(const RecordWatch&) = delete;

 private:
  void Run(const std::string& root, const Callback& callback);
  bool Wait(int inotify_fd, int milliseconds) const;

  base::Fd stop_;  // an eventfd: readable once the thread has to end
  std::thread thread_;
};

}  // namespace prefetch::kubelet
