// PipedList: a list that comes through a pipe which the process was started with: "--list /dev/stdin", or a
// shell's <(…). It can be read once only, so what came is kept.
#pragma once

#include <chrono>
#include <string>

#include "base/fs.h"
#include "base/result.h"

namespace prefetch::list {

// Is `path` one of this process's own open files ("/dev/stdin", "/dev/fd/63", "/proc/self/fd/0")?
bool IsOwnDescriptor(const std::string& path);

// Part of one ListSources.
class PipedList {
 public:
  // Returns the text up to the pipe's end, for which it waits at most `timeout`. Returns Unavailable while
  // the pipe is still open; another Read then continues.
  base::Result<std::string> Read(const std::string& path, std::size_t most_bytes,
                                 std::chrono::milliseconds timeout);

 private:
  base::Status ReadOn(const std::string& path, std::size_t most_bytes, std::chrono::milliseconds timeout);

  base::Fd pipe_;
  std::string text_;
  bool ended_ = false;
};

}  // namespace prefetch::list
