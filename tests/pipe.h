// A pipe as a shell makes it for "<(command)".
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "base/fs.h"

namespace prefetch::tests {

// The end to read, and the end to write to.
inline std::pair<base::Fd, base::Fd> Pipe() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  return {base::Fd(ends[0]), base::Fd(ends[1])};
}

inline std::string PathOf(const base::Fd& end) {
  return "/dev/fd/" + std::to_string(end.get());
}

}  // namespace prefetch::tests
