// A containerd without images, as on a node that is new.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <sstream>
#include <string>

#include "rig/containerd.h"
#include "rig/expect_ok.h"
#include "rig/process.h"

namespace prefetch::system {

// All names go, and then the content. A failure fails the test.
inline void EmptyStore(rig::Containerd& containerd) {
  auto names = containerd.Ctr({"images", "ls", "--quiet"});
  ASSERT_OK(names);
  std::istringstream lines(*names);
  for (std::string name; std::getline(lines, name);) {
    EXPECT_OK(containerd.Ctr({"images", "rm", "--sync", name}));
  }
  EXPECT_TRUE(rig::Eventually(std::chrono::seconds(20), [&] {
    auto left = containerd.Ctr({"content", "ls", "--quiet"});
    return left && left->empty();
  }));
}

}  // namespace prefetch::system
