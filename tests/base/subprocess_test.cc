#include "base/subprocess.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "base/fs.h"
#include "base/text.h"
#include "must.h"
#include "rows.h"
#include "temp_dir.h"

namespace prefetch::base::subprocess_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Call Limit(Duration limit) {
  return Call().Within(limit);
}

Command Shell(const std::string& script) {
  return {.argv = {"/bin/sh", "-c", script}, .environment = {"PATH=/usr/bin:/bin"}};
}

struct Row {
  std::string name;
  std::string script;
  ProcessEnd end;
  int code;
  std::string output;
  std::string errors;
  Duration limit = seconds(30);   // of the call
  Duration within = seconds(20);  // that it must be over
};

TEST_TABLE(RunProcessTest, Ends, Row) {
  const TimePoint begin = std::chrono::steady_clock::now();
  Result<ProcessResult> result = RunProcess(Limit(row.limit), Shell(row.script), "input\n");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, row.within);
  ASSERT_TRUE(result.ok()) << result.error().message();
  EXPECT_EQ(result->end, row.end);
  EXPECT_EQ(result->code, row.code);
  EXPECT_EQ(result->output.Reveal(), row.output);
  EXPECT_EQ(result->errors, row.errors);
}

TEST_ROWS(Script, RunProcessTest, {"Succeeds", "cat", ProcessEnd::kExited, 0, "input\n", ""},
          {"ExitCode", "echo out; echo err >&2; exit 3", ProcessEnd::kExited, 3, "out\n", "err\n"},
          {"ExitCode255", "exit 255", ProcessEnd::kExited, 255, "", ""},
          {"KilledByItself", "kill -SEGV $$", ProcessEnd::kSignalled, SIGSEGV, "", ""},
          {"Hangs", "echo early; exec sleep 1000", ProcessEnd::kTimedOut, 0, "", "", milliseconds(150)},
          {"IgnoresTerm", "trap '' TERM INT HUP; while :; do sleep 1000; done", ProcessEnd::kTimedOut, 0, "",
           "", milliseconds(150)},
          {"WaitsForItsOwnGroup", "sleep 1000 & wait", ProcessEnd::kTimedOut, 0, "", "", milliseconds(150)},
          {"NeverReadsItsInput", "exec sleep 1000 <&-", ProcessEnd::kTimedOut, 0, "", "", milliseconds(150)},
          {"GrandchildHoldsThePipes", "sleep 1000 & echo done", ProcessEnd::kExited, 0, "done\n", ""},
          {"GrandchildInASessionOfItsOwn", "setsid sleep 3 & echo done", ProcessEnd::kExited, 0, "done\n", "",
           seconds(30), milliseconds(2500)},
          {"GrandchildSpeaksAfterIt", "(sleep 0.1; echo late) & echo soon", ProcessEnd::kExited, 0,
           "soon\nlate\n", ""},
          {"ClosesItsPipesAndHangs", "exec >&- 2>&- ; exec sleep 1000", ProcessEnd::kTimedOut, 0, "", "",
           milliseconds(150)},
          {"DeadlineAlreadyOver", "exec sleep 1000", ProcessEnd::kTimedOut, 0, "", "", milliseconds(-1)});

TEST(RunProcess, FloodOnStdoutEndsTheChild) {
  Command command = Shell("yes secret");
  command.max_output = 100'000;
  Result<ProcessResult> result = tests::Must(RunProcess(Limit(seconds(30)), command, ""));
  EXPECT_EQ(result->end, ProcessEnd::kOutputLimit);
  EXPECT_TRUE(result->output.empty());
}

TEST(RunProcess, OutputUpToTheLimitIsWhole) {
  Command command = Shell("head -c 100000 /dev/zero");
  command.max_output = 100'000;
  Result<ProcessResult> result = tests::Must(RunProcess(Limit(seconds(30)), command, ""));
  EXPECT_EQ(result->end, ProcessEnd::kExited);
  EXPECT_EQ(result->output.Reveal(), std::string(100'000, '\0'));
  command.max_output = 99'999;
  EXPECT_EQ(RunProcess(Limit(seconds(30)), command, "")->end, ProcessEnd::kOutputLimit);
}

TEST(RunProcess, FloodOnStderrIsDrainedAndKeptInPart) {
  Command command = Shell("head -c 5000000 /dev/zero | tr '\\0' x >&2; echo fine");
  Result<ProcessResult> result = tests::Must(RunProcess(Limit(seconds(30)), command, ""));
  EXPECT_EQ(result->end, ProcessEnd::kExited);
  EXPECT_EQ(result->output.Reveal(), "fine\n");
  EXPECT_EQ(result->errors, std::string(4096, 'x'));
}

TEST(RunProcess, AMegabyteOfInputUnreadAndRead) {
  std::string input(1 << 20, 'i');
  Result<ProcessResult> unread =
      tests::Must(RunProcess(Limit(seconds(30)), Shell("exec <&-; echo ok"), input));
  EXPECT_EQ(unread->end, ProcessEnd::kExited);
  EXPECT_EQ(unread->output.Reveal(), "ok\n");
  Command both = Shell("cat");
  both.max_output = input.size();
  EXPECT_EQ(RunProcess(Limit(seconds(30)), both, input)->output.Reveal(), input);
  // A reader that goes in the middle: EPIPE, and no SIGPIPE left behind for anybody.
  EXPECT_EQ(RunProcess(Limit(seconds(30)), Shell("head -c 1 >/dev/null"), input)->end, ProcessEnd::kExited);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

TEST(RunProcess, TheWholeGroupIsKilled) {
  tests::TempDir dir;
  Command command = Shell("sleep 1000 & echo $! > " + (dir / "grandchild") + "; wait");
  EXPECT_EQ(RunProcess(Limit(milliseconds(300)), command, "")->end, ProcessEnd::kTimedOut);
  std::string text = *ReadFile(dir / "grandchild", 100);
  auto pid = static_cast<pid_t>(*ParseUint(TrimSpace(text)));
  // The signal was sent before RunProcess returned; on a busy machine it arrives a moment later. A pidfd is
  // readable once its process has ended, be it a zombie of whoever inherits orphans here.
  Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process.valid()) return;  // gone and reaped
  pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&ended, 1, 10'000), 1);
}

// As PID 1 this process inherits what its children started. A subreaper does, too, and a test can be one.
class Inheriting : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0); }
  void TearDown() override { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }
  static bool NothingIsLeft() {
    siginfo_t info{};
    return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
  }
  // Reaps as the agent does at each SIGCHLD.
  static bool NothingIsLeftSoon() {
    const auto limit = std::chrono::steady_clock::now() + seconds(30);
    while (!NothingIsLeft() && std::chrono::steady_clock::now() < limit) ReapOrphans();
    return NothingIsLeft();
  }
};

// A child of its own group, sessions of their own, one in the other, and a parent that ends first.
TEST_F(Inheriting, APluginThatTimesOutLeavesNothingBehind) {
  for (const char* script : {"sleep 1000 & sleep 1000", "setsid sleep 1000 & sleep 1000",
                             "setsid sh -c 'setsid sleep 1000 & sleep 1000' & sleep 1000",
                             "(setsid sleep 1000 >&- 2>&- <&- &); sleep 1000", "setsid sleep 1000 & exit 0",
                             "for i in 1 2 3 4 5 6 7 8; do setsid sleep 1000 & done; sleep 1000"}) {
    EXPECT_TRUE(RunProcess(Limit(milliseconds(500)), Shell(script), "").ok());
    EXPECT_TRUE(NothingIsLeft()) << script;
  }
}

// A plugin that runs beside one that ends is not touched, nor are its helpers whose parents have ended, in
// its group and in a session of their own. They end with it.
TEST_F(Inheriting, ThePluginBesideIsNotTouched) {
  tests::TempDir dir;
  const auto touches = [&](const char* file) {
    return "sh -c 'while :; do : > " + (dir / file) + "; sleep 0.01; done' >&- 2>&- <&- &";
  };
  const auto lives = [&](const char* file) {
    return "rm -f " + (dir / file) + "; until [ -e " + (dir / file) + " ]; do sleep 0.01; done; ";
  };
  ProcessEnd beside = ProcessEnd::kExited;
  {
    std::jthread other([&] {
      const std::string script = "(" + touches("helper") + ") ; (setsid " + touches("session") + ") ; : > " +
                                 (dir / "up") + "; until [ -e " + (dir / "go") + " ]; do sleep 0.01; done; " +
                                 lives("helper") + lives("session") + "kill -9 $$";
      beside = RunProcess(Limit(seconds(30)), Shell(script), "")->end;
    });
    while (!ReadFile(dir / "up", 100).ok()) std::this_thread::yield();
    EXPECT_EQ(RunProcess(Limit(milliseconds(300)), Shell("setsid sleep 1000 & sleep 1000"), "")->end,
              ProcessEnd::kTimedOut);
    EXPECT_EQ(RunProcess(Limit(seconds(30)), Shell("exit 0"), "")->end, ProcessEnd::kExited);
    dir.Write("go", "");
  }
  EXPECT_EQ(beside, ProcessEnd::kSignalled) << "by itself, once it has seen that its helpers live";
  EXPECT_TRUE(NothingIsLeftSoon());
}

// One that ends by itself leaves nothing either, though its answer does not wait for that.
TEST_F(Inheriting, WhatAPluginLeavesRunningIsEnded) {
  for (const char* script : {"sleep 1000 >&- 2>&- <&- &", "setsid sleep 1000 >&- 2>&- <&- &",
                             "setsid sh -c 'setsid sleep 1000 & sleep 1000' >&- 2>&- <&- &",
                             "(sleep 1000 >&- 2>&- <&- &); exit 3"}) {
    EXPECT_EQ(RunProcess(Limit(seconds(30)), Shell(script), "")->end, ProcessEnd::kExited);
    EXPECT_TRUE(NothingIsLeftSoon()) << script;
  }
}

// In a process of its own: it matters what there was before the first plugin. A shell has started a child,
// and has become the agent by `exec`.
TEST(InheritingDeathTest, ChildrenFromBeforeTheFirstPluginLive) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto check = [] {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t before = ::fork();
    if (before == 0) ::execl("/bin/sleep", "sleep", "1000", nullptr);
    const bool ran = RunProcess(Limit(seconds(30)), Shell("exit 0"), "").ok();
    ReapOrphans();
    siginfo_t ended{};
    const bool lives = ran && ::waitid(P_PID, static_cast<id_t>(before), &ended, WEXITED | WNOHANG) == 0 &&
                       ended.si_pid == 0;
    ::kill(before, SIGKILL);
    ::_exit(lives ? 0 : 1);
  };
  EXPECT_EXIT(check(), testing::ExitedWithCode(0), "");
}

// The reaper never takes a result from the thread that waits for it.
TEST_F(Inheriting, ResultsAreRightWhileOrphansAreReaped) {
  std::atomic<int> good = 0;
  {
    std::jthread reaper([](const std::stop_token& stop) {
      while (!stop.stop_requested()) ReapOrphans();
    });
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; i++) {
      threads.emplace_back([&good, i] {
        for (int run = 0; run < 20; run++) {
          // Its orphan ends before, with or after it.
          Result<ProcessResult> result = RunProcess(
              Limit(seconds(120)), Shell("setsid true >&- 2>&- <&- & exit " + std::to_string(i + 3)), "");
          good += result.ok() && result->end == ProcessEnd::kExited && result->code == i + 3;
        }
      });
    }
    threads.clear();
    const auto limit = std::chrono::steady_clock::now() + seconds(30);
    while (!NothingIsLeft() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  }
  EXPECT_EQ(good, 160);
  EXPECT_TRUE(NothingIsLeft());
}

TEST(RunProcess, StopWhileItRuns) {
  tests::TempDir dir;
  ASSERT_EQ(mkfifo((dir / "started").c_str(), 0600), 0);
  std::stop_source source;
  Result<ProcessResult> result = NotFound("not run");
  Command command = Shell("echo > " + (dir / "started") + "; exec sleep 1000");
  std::jthread runner([&] { result = RunProcess({TimePoint::max(), source.get_token()}, command, ""); });
  std::ifstream(dir / "started").get();  // waits until the child is there
  source.request_stop();
  runner.join();
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->end, ProcessEnd::kCancelled);
  result = RunProcess({TimePoint::max(), source.get_token()}, command, "");
  EXPECT_EQ(result.error().code(), Code::kCancelled) << "before its start";
}

TEST(RunProcess, TheChildHasCleanSurroundings) {
  tests::TempDir dir;
  Command command = Shell("pwd; env; ls /proc/self/fd | wc -l; grep -E '^Sig(Blk|Ign)' /proc/self/status");
  command.environment = {"ONLY=this", "PATH=/usr/bin:/bin"};
  command.directory = dir.path();
  Fd leak(::dup(0));
  sigset_t all, old_mask;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &old_mask);
  auto old_handler = ::signal(SIGPIPE, SIG_IGN);
  Result<ProcessResult> result = RunProcess(Limit(seconds(30)), command, "");
  ::signal(SIGPIPE, old_handler);
  pthread_sigmask(SIG_SETMASK, &old_mask, nullptr);
  ASSERT_TRUE(result.ok());
  std::string output(result->output.Reveal());
  EXPECT_NE(output.find(dir.path() + "\n"), std::string::npos) << output;
  EXPECT_NE(output.find("ONLY=this\n"), std::string::npos) << output;
  EXPECT_EQ(output.find("HOME="), std::string::npos) << output;
  EXPECT_NE(output.find("\n4\n"), std::string::npos) << output;  // 0, 1, 2, and ls reading the folder
  EXPECT_NE(output.find("SigBlk:\t0000000000000000"), std::string::npos) << output;
  // glibc keeps signals 32 and 33 for itself.
  std::string ignored = output.substr(output.find("SigIgn:") + 8, 16);
  EXPECT_EQ(std::stoull(ignored, nullptr, 16) & 0x7fffffffU, 0U) << output;
}

TEST(RunProcess, WhatCannotBeStarted) {
  tests::TempDir dir;
  auto run = [](const std::string& path) { return RunProcess(Limit(seconds(30)), {.argv = {path}}, "x"); };
  EXPECT_EQ(run(dir / "none").error().code(), Code::kNotFound);
  EXPECT_EQ(run(dir.Write("plain", "#!/bin/sh\n")).error().code(), Code::kPermissionDenied);
  EXPECT_EQ(run(dir.path()).error().code(), Code::kPermissionDenied);
  std::string garbage = dir.Write("garbage", "\x01\x02\x03");
  std::filesystem::permissions(garbage, std::filesystem::perms::owner_all);
  EXPECT_FALSE(run(garbage).ok());
  EXPECT_EQ(RunProcess({}, {}, "").error().code(), Code::kInvalidArgument);
  Command nowhere = Shell("true");
  nowhere.directory = dir / "none";
  EXPECT_FALSE(RunProcess({}, nowhere, "").ok());
}

TEST(RunProcess, TwoHundredAtOnce) {
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  rlimit raised = files;
  raised.rlim_cur = std::min<rlim_t>(files.rlim_max, 8192);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &raised), 0);
  std::atomic<int> good = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 200; i++) {
      threads.emplace_back([&good, i] {
        std::string input = std::to_string(i);
        Result<ProcessResult> result = RunProcess(Limit(seconds(120)), Shell("cat"), input);
        good += result.ok() && result->end == ProcessEnd::kExited && result->output.Reveal() == input;
      });
    }
  }
  setrlimit(RLIMIT_NOFILE, &files);
  EXPECT_EQ(good, 200);
}

}  // namespace
}  // namespace prefetch::base::subprocess_test
