// However the tests on real programs end, nothing of their world stays.
#include "cluster/world.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "rig/process.h"
#include "rig/scratch.h"
#include "rows.h"

namespace prefetch::cluster::world_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

bool IsEmpty(const std::string& folder) {
  return fs::is_empty(folder);
}

// Its body has a process of its own, a folder in its folder, and a cgroup where the machine has them.
TEST_TABLE(WorldEnds, NothingStays, int) {
  rig::Scratch scratch;
  const std::string temporary = scratch / "tmp";
  fs::create_directory(temporary);
  pid_t guardian = ::fork();
  ASSERT_GE(guardian, 0);
  if (guardian == 0) {
    ::setenv("TMPDIR", temporary.c_str(), 1);
    ::_exit(RunInWorld([] {
      if (::fork() == 0) ::pause();
      fs::create_directories(fs::temp_directory_path() / "a" / "b");
      std::ofstream(fs::temp_directory_path() / "a" / "up") << "up";
      ::pause();
      return 0;
    }));
  }
  std::string world;
  EXPECT_TRUE(rig::Eventually(seconds(20), [&] {
    for (const auto& entry : fs::directory_iterator(temporary)) {
      std::ifstream(entry.path() / "pid") >> world;
      if (!world.empty() && fs::exists(entry.path() / "a" / "up")) return true;
    }
    return false;
  }));
  ::kill(guardian, row);
  EXPECT_EQ(::waitpid(guardian, nullptr, 0), guardian);
  EXPECT_TRUE(rig::Eventually(seconds(20), [&] {
    return IsEmpty(temporary) && !fs::exists("/proc/" + world);
  })) << world;
}

INSTANTIATE_TEST_SUITE_P(By, WorldEnds, testing::Values(SIGINT, SIGTERM, SIGKILL),
                         [](const auto& row) { return std::string(sigabbrev_np(row.param)); });

}  // namespace
}  // namespace prefetch::cluster::world_test
