// Processes of the node get at nothing that the agent holds: it leaves no core dump, no process of the same
// user reads its memory, and its socket is for its own user alone. The kernel shows the first two: files in
// /proc of a process that may not be dumped belong to root (proc(5)), whatever user it runs as.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/fs.h"
#include "must.h"
#include "rig/binary.h"
#include "rig/expect_ok.h"
#include "rig/process.h"
#include "rig/scratch.h"

namespace prefetch::system::core_dump_test {
namespace {

using std::chrono::seconds;

constexpr uid_t kNobody = 65534;

class CoreDump : public testing::Test {
 protected:
  CoreDump() { EXPECT_EQ(::chmod((scratch_ / "").c_str(), 0777), 0); }

  void StartAsNobody(const std::string& program, const std::vector<std::string>& args) {
    std::vector<std::string> argv = {"setpriv", "--reuid",        "65534", "--regid",
                                     "65534",   "--clear-groups", program};
    argv.insert(argv.end(), args.begin(), args.end());
    ASSERT_OK(process_.Start({.argv = argv}, scratch_ / "log"));
  }
  void StartAgent(const std::vector<std::string>& more) {
    scratch_.Write("list.txt", "registry.example.test/a:v1\n", 0644);
    std::vector<std::string> args = {"--list",
                                     scratch_ / "list.txt",
                                     "--kubelet=none",
                                     "--listen",
                                     "127.0.0.1:0",
                                     "--local",
                                     scratch_ / "agent.sock",
                                     "--runtime-endpoint",
                                     "unix://" + (scratch_ / "no-runtime.sock")};
    args.insert(args.end(), more.begin(), more.end());
    StartAsNobody(std::getenv("PREFETCHD"), args);
    struct stat info {};
    ASSERT_TRUE(rig::Eventually(seconds(30), [&] {
      return ::stat((scratch_ / "agent.sock").c_str(), &info) == 0;
    })) << *base::ReadFile(scratch_ / "log", 1 << 20);
  }
  // Returns the owner of the process's files in /proc, or -1 if it does not run.
  uid_t Owner() {
    struct stat info {};
    const bool there = ::stat(("/proc/" + std::to_string(process_.pid()) + "/environ").c_str(), &info) == 0;
    return there && process_.Running() ? info.st_uid : -1;
  }

  rig::Scratch scratch_;
  rig::Process process_;
};

TEST_F(CoreDump, TheAgentLeavesNone) {
  StartAgent({});
  EXPECT_EQ(Owner(), 0U);
}

TEST_F(CoreDump, TheAgentLeavesOneWhereSomebodyDebugs) {
  StartAgent({"--core-dumps"});
  EXPECT_EQ(Owner(), kNobody);
}

TEST_F(CoreDump, TheSocketIsForTheAgentsOwnUser) {
  StartAgent({});
  const auto asked_as = [&](const std::string& user) {
    const rig::Command command{
        {"setpriv", "--reuid", user, "--regid", user, "--clear-groups", "curl", "--silent", "--max-time",
         "10", "--output", "/dev/null", "--unix-socket", scratch_ / "agent.sock", "http://localhost/livez"},
        {}};
    return tests::Must(rig::RunProgram(command, seconds(20)))->exit;
  };
  EXPECT_EQ(asked_as("65534"), rig::Exit{});
  EXPECT_EQ(asked_as("65533"), (rig::Exit{7, 0})) << "curl(1): 7, it could not connect";
}

TEST_F(CoreDump, PrefetchctlLeavesNone) {
  StartAsNobody(rig::Prefetchctl(),
                {"wait", "--agent", "unix://" + (scratch_ / "nobody.sock"), "--timeout", "60s"});
  EXPECT_TRUE(rig::Eventually(seconds(30), [&] { return Owner() == 0; }));
}

}  // namespace
}  // namespace prefetch::system::core_dump_test
