// Parts of the tests of `--fetch=auto` on a real containerd.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <sstream>
#include <string>

#include "rig/containerd.h"
#include "rig/expect_ok.h"
#include "rig/process.h"

namespace prefetch::system {

// Is it one for which the agent downloads content itself?
inline bool IsFetchedFor(rig::Containerd& containerd) {
  auto version = containerd.Ctr({"version"});
  EXPECT_OK(version);
  const std::string server = version ? version->substr(version->find("Server:")) : "";
  for (const char* older : {"Version:  v1.", "Version:  1.", "Version:  v2.0.", "Version:  2.0."}) {
    if (server.find(older) != std::string::npos) return false;
  }
  return !server.empty();
}

// Returns the bytes that the agent itself has downloaded; -1 if its metrics do not tell.
inline double FetchedBytes(const std::string& metrics) {
  const std::string name = "\nprefetchd_fetched_bytes_total ";
  const std::size_t at = metrics.find(name);
  return at == std::string::npos ? -1 : std::stod(metrics.substr(at + name.size()));
}

// At once: the removal of any lease does it. A failure fails the test.
inline void CollectGarbage(rig::Containerd& containerd) {
  EXPECT_OK(containerd.Ctr({"leases", "create", "--id", "collect-garbage"}));
  EXPECT_OK(containerd.Ctr({"leases", "rm", "--sync", "collect-garbage"}));
}

// As on a new node: all names go, the leases of agents that were killed, and then the content. A failure
// fails the test.
inline void EmptyStore(rig::Containerd& containerd) {
  auto leases = containerd.Ctr({"leases", "ls", "--quiet"});
  ASSERT_OK(leases);
  std::istringstream ids(*leases);
  for (std::string id; std::getline(ids, id);) {
    EXPECT_OK(containerd.Ctr({"leases", "rm", "--sync", id}));
  }
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
