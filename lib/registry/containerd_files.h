// ContainerdFiles: containerd's configuration file on this node, with all that it imports.
#pragma once

#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/stamped_files.h"
#include "registry/containerd_config.h"

namespace prefetch::registry {

// Any thread may call. Files are looked at each time and read again when one of them, or a folder in which
// imports are looked for, has changed: containerd itself reads them at its start only, so for a while this
// may know more than it does.
class ContainerdFiles {
 public:
  // containerd's `file` ("/etc/containerd/config.toml") is `host_root` + `file` here.
  ContainerdFiles(const std::string& file, std::string host_root);
  ContainerdFiles(const ContainerdFiles&) = delete;
  ContainerdFiles& operator=(const ContainerdFiles&) = delete;

  // Returns the same object while the content is the same. Blocks for disk reads only. Problems are notes in
  // it: a missing file means containerd's defaults, and an unusable one means that only the runtime can tell.
  std::shared_ptr<const ContainerdSettings> Current() PREFETCH_EXCLUDES(mutex_);

 private:
  const std::string file_;
  const std::string host_root_;
  base::Mutex mutex_;
  base::MadeOfFiles<ContainerdSettings> settings_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::registry
