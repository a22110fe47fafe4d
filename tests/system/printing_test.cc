// What both programs print, and what becomes of it: warnings, mistakes, output that nobody can read.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

#include "base/text.h"
#include "rig/expect_ok.h"
#include "rig/process.h"
#include "rig/scratch.h"
#include "system/commands_help.h"

namespace prefetch::system::printing_test {
namespace {

using commands_help::Output;
using commands_help::Program;

// `command` is run by bash, with @ for the program.
rig::Ran Shell(const std::string& command) {
  auto ran = rig::RunProgram({{"bash", "-c", base::ReplaceAll(command, "@", Program())}, {}},
                             std::chrono::seconds(30));
  EXPECT_OK(ran);
  return ran ? *ran : rig::Ran{};
}

// Rarely set flags became fields of the configuration file; for one release they work and name the field.
TEST(AgentFlags, ThatBecameFieldsWorkAndWarn) {
  const std::string agent = std::getenv("PREFETCHD");
  auto ran = rig::RunProgram({{agent, "--list", "none.txt", "--kubelet=none", "--registry-skip-mirrors",
                               "--gate-timeout", "never", "--registry-trusted-mirror", "m:1"},
                              {}},
                             std::chrono::seconds(30));
  ASSERT_OK(ran);
  EXPECT_EQ(ran->exit, (rig::Exit{2, 0}));
  EXPECT_EQ(
      ran->err,
      "prefetchd: --registry-trusted-mirror is deprecated: set registryTrustedMirrors in the file of "
      "--config, "
      "or PREFETCHD_REGISTRY_TRUSTED_MIRRORS\n"
      "prefetchd: --registry-skip-mirrors is deprecated: set registrySkipMirrors in the file of --config, or "
      "PREFETCHD_REGISTRY_SKIP_MIRRORS\n"
      "prefetchd: --gate-timeout is deprecated: set gateTimeout in the file of --config, or "
      "PREFETCHD_GATE_TIMEOUT\n"
      "prefetchd: --gate-timeout: must be a duration such as \"15m\"\n");
  const std::string help = Output({agent, "--help"});
  EXPECT_NE(help.find("--startup-taint"), std::string::npos);
  for (const char* flag : {"--gate-timeout", "--registry-skip-mirrors", "--audit-ignore", "--kubelet-ca"}) {
    EXPECT_EQ(help.find(flag), std::string::npos) << flag;
  }
}

// The files in /proc of a process whose memory is nobody's to read belong to root, whoever runs it.
TEST(AgentFlags, MemoryIsNotDumpedUnlessAskedFor) {
  rig::Scratch scratch;
  for (const auto& [flag, owner] : {std::pair("", "0\n"), std::pair("--core-dumps", "65534\n")}) {
    auto ran = rig::RunProgram(
        {{"bash", "-c",
          "set -e; umask 022; d=$1/of$3; mkdir -m 777 $d; chmod 755 $1; cp $2 $d/prefetchd; echo r.io/a:v1 "
          ">$d/l.txt; "
          "setpriv --reuid 65534 --clear-groups $d/prefetchd --kubelet=none --list $d/l.txt --local $d/sock "
          "--listen 127.0.0.1:0 --runtime-endpoint unix://$d/none $3 2>$d/log & "
          "until [ -S $d/sock ]; do kill -0 $! && sleep 0.02; done; stat -c %u /proc/$!/status; kill $!",
          "bash", scratch.path(), std::getenv("PREFETCHD"), flag},
         {}},
        std::chrono::seconds(30));
    ASSERT_OK(ran);
    EXPECT_EQ(ran->out, owner) << ran->err;
  }
}

class Printing : public testing::Test {
 protected:
  Printing() {
    std::string list;
    for (int i = 0; i < 4000; i++) list += "quay.io/acme/app" + std::to_string(i) + ":v1\n";
    scratch_.Write("list.txt", list);
  }
  rig::Scratch scratch_;
};

// A mistake in a file begins with its place; every other one says who complains.
TEST_F(Printing, MistakesSayWhereTheyAreOrWhoseTheyAre) {
  scratch_.Write("bad.txt", "good:v1\nBAD\n");
  scratch_.Write("bad.yaml", "kind: [\n");
  struct Row {
    std::string command, says;
  };
  const std::string none = scratch_ / "none";
  for (const Row& row : {
           Row{"list check " + (scratch_ / "bad.txt"),
               "bad.txt:2:1: image name \"BAD\": path must be lowercase\n"},
           Row{"list check " + none, "prefetchctl: " + none + ": there is no such file or folder\n"},
           Row{"list diff " + none + " --node",
               "prefetchctl: " + none + ": there is no such file or folder\n"},
           Row{"credentials X", "prefetchctl: image name \"X\": path must be lowercase\n"},
           Row{"credentials", "prefetchctl: an IMAGE is needed, or --check\n"},
           Row{"credentials --check --docker-config " + none,
               "prefetchctl: " + none + ": there is no such file\n"},
           Row{"check", "prefetchctl: name manifests with -f, or images with --image\n"},
           Row{"check -f " + none, "prefetchctl: " + none + ": there is no such file or folder\n"},
           Row{"check --image X --image Y --policy Never",
               "prefetchctl: --image X: image name \"X\": path must be lowercase\n"
               "prefetchctl: --image Y: image name \"Y\": path must be lowercase\n"},
           Row{"verdict --image a --image-id '' --kubelet-config " + none,
               "prefetchctl: open " + none + ": No such file or directory\n"},
       }) {
    rig::Ran ran = Shell("@ " + row.command);
    EXPECT_EQ(ran.exit, (rig::Exit{2, 0})) << row.command;
    EXPECT_EQ(ran.err, row.says) << row.command;
  }
  rig::Ran ran = Shell("@ verdict --image a --image-id '' --kubelet-config " + (scratch_ / "bad.yaml"));
  EXPECT_TRUE(ran.err.starts_with((scratch_ / "bad.yaml") + ":")) << ran.err;
}

// A list that was cut off is worse than none.
TEST_F(Printing, WhatCannotBeWrittenIsNoSuccess) {
  for (const std::string& command :
       {"list print " + (scratch_ / "list.txt"), std::string("--version"), std::string("status --help"),
        std::string("completion bash"), std::string("lint --rules")}) {
    rig::Ran full = Shell("@ " + command + " >/dev/full");
    EXPECT_EQ(full.exit, (rig::Exit{4, 0})) << command;
    EXPECT_EQ(full.err, "prefetchctl: standard output cannot be written to: is the disk full?\n") << command;
  }
  EXPECT_EQ(Shell("@ list print " + (scratch_ / "list.txt") + " >&-").exit, (rig::Exit{4, 0}));
}

TEST_F(Printing, AReaderThatHasEnoughIsNoFailure) {
  rig::Ran ran = Shell("@ list print " + (scratch_ / "list.txt") + " | head -1; exit ${PIPESTATUS[0]}");
  EXPECT_EQ(ran.exit, rig::Exit{}) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_TRUE(ran.out.starts_with("apiVersion: ")) << ran.out;
  // Who watches for somebody ends when that one has gone.
  ran = Shell("@ status --watch --agent http://127.0.0.1:1 | head -1; exit ${PIPESTATUS[0]}");
  EXPECT_EQ(ran.exit, rig::Exit{}) << ran.err;
}

}  // namespace
}  // namespace prefetch::system::printing_test
