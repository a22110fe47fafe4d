// Settle: waits until files have their final stamp.
#pragma once

#include <filesystem>
#include <thread>

#include "base/fs.h"
#include "temp_dir.h"

namespace prefetch::tests {

// Until no file below the folder has changed a moment ago (base::IsSettled): 50 ms at most.
inline void Settle(const TempDir& folder) {
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder.path())) {
    while (!base::IsSettled(base::StampOf(file.path()))) std::this_thread::yield();
  }
}

}  // namespace prefetch::tests
