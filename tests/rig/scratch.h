// The folder that a rig lives in, and the promise that nothing of it outlives the test.
#pragma once

#include <string>
#include <string_view>

#include "base/fs.h"

namespace prefetch::rig {

// A new folder /tmp/prefetch-rig-XXXXXX. When it goes, every process that was started with that path among
// its arguments is killed (containerd's shims leave their group), every mount below it is undone, and it is
// removed. Folders that a killed test left behind are told by a lock that nobody holds, and cleaned up by
// the next Scratch. Files *.log are first copied to $PREFETCH_TEST_LOGS/<Suite.Case>/ if that is set. Aborts
// if it cannot be made: no test can go on without. One thread owns it.
class Scratch {
 public:
  Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  // Writes a file below the folder, with the folders on its way; returns its path. Aborts on failure.
  std::string Write(std::string_view name, std::string_view content, unsigned mode = 0600) const;

 private:
  std::string path_;
  base::Fd lock_;
};

// Kills what runs in `path`, unmounts what is mounted below, removes it.
void RemoveTree(const std::string& path);

}  // namespace prefetch::rig
