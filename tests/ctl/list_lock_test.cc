// `list lock`, alone and with a registry.
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "base/fs.h"
#include "ctl/exit_code.h"
#include "ctl/list.h"
#include "ctl/ran.h"
#include "fakes/fake_registry.h"
#include "temp_dir.h"

namespace prefetch::ctl::list_lock_test {
namespace {

using tests::Ran;

const std::string kOne = "sha256:" + std::string(64, '1'), kTwo = "sha256:" + std::string(64, '2');

Ran Lock(const ListLockOptions& options) {
  const config::GetEnv nothing = [](const char*) -> const char* { return nullptr; };
  return tests::Run([&](auto& out, auto& err) { return LockLists({}, options, nothing, out, err); });
}

TEST(ListLock, ADigestIsItsOwnLock) {
  tests::TempDir dir;
  const std::string list = dir.Write("a.txt", "q.io/a@" + kOne + "\n");
  Ran ran = Lock({.files = {list}});
  EXPECT_EQ(ran,
            (Ran{kOk, "+ q.io/a@" + kOne + "  sha256:111111111111\na.txt: 1 image locked, 1 changed\n", ""}));
  auto lock = base::ReadFile(list + ".lock", 1 << 20);
  ASSERT_TRUE(lock);
  EXPECT_NE(lock->find(kOne), std::string::npos) << *lock;
  EXPECT_EQ(Lock({.files = {list}, .check = true}),
            (Ran{kOk, "a.txt: 1 image, 0 changed since it was locked\n", ""}));
}

TEST(ListLock, CheckTellsWhatIsOtherAndWritesNothing) {
  tests::TempDir dir;
  const std::string list = dir.Write("a.txt", "q.io/a@" + kOne + "\n");
  ASSERT_EQ(Lock({.files = {list}}).exit, kOk);
  const std::string before = *base::ReadFile(list + ".lock", 1 << 20);
  dir.Write("a.txt", "q.io/a@" + kTwo + "\n");
  Ran ran = Lock({.files = {list}, .check = true});
  EXPECT_EQ(ran.exit, kNegative);
  EXPECT_NE(ran.out.find("+ q.io/a@" + kTwo), std::string::npos) << ran;
  EXPECT_NE(ran.out.find("- q.io/a@" + kOne + "  not on the list any more\n"), std::string::npos) << ran;
  EXPECT_EQ(*base::ReadFile(list + ".lock", 1 << 20), before);
}

class LockOfARegistry : public testing::Test {
 protected:
  // Locks app:v1 of a registry whose manifest has this type and text.
  Ran LockOf(const tests::FakeManifest& manifest, NodeRuntime runtime) {
    digest_ = registry_.Put("app", "v1", manifest);
    return Lock({.files = {dir_.Write("a.txt", registry_.address() + "/app:v1\n")}, .runtime = runtime});
  }
  bool locked() {
    auto lock = base::ReadFile(dir_ / "a.txt.lock", 1 << 20);
    return lock && lock->find(digest_) != std::string::npos;
  }

  tests::TempDir dir_;
  tests::FakeRegistry registry_;
  std::string digest_;
};

constexpr const char* kIndexType = "application/vnd.oci.image.index.v1+json";

TEST_F(LockOfARegistry, WhatOnlyContainerdRefusesIsAWarningForCrio) {
  const tests::FakeManifest odd{.content_type = "application/octet-stream", .body = "{\"schemaVersion\":2}"};
  const std::string why =
      "answered with the type \"application/octet-stream\", which containerd does not take for a manifest";
  Ran ran = LockOf(odd, NodeRuntime::kContainerd);
  EXPECT_EQ(ran.exit, kNegative);
  EXPECT_NE(ran.err.find("/app:v1: Indeterminate: " + registry_.address() + " " + why), std::string::npos)
      << ran;
  EXPECT_FALSE(locked());
  ran = LockOf(odd, NodeRuntime::kCrio);
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_EQ(ran.err, "warning: " + registry_.address() + "/app:v1: containerd would not pull it: " +
                         registry_.address() + " " + why + "; only a pull can tell whether CRI-O does\n");
  EXPECT_TRUE(locked());
}

// containerd resolves by HEAD, and CRI-O does not send it.
TEST_F(LockOfARegistry, AHeadThatIsRefusedIsNoErrorForCrio) {
  registry_.Answer([](const tests::WireRequest& request) -> std::optional<tests::FakeReply> {
    if (request.method != "HEAD") return std::nullopt;
    return tests::FakeReply{.status = 501};
  });
  EXPECT_EQ(LockOf({}, NodeRuntime::kContainerd).exit, kUnreachable);
  EXPECT_EQ(LockOf({}, NodeRuntime::kCrio).exit, kOk);
  EXPECT_TRUE(locked());
}

// CRI-O sends GET alone, so an answer to containerd's HEAD and GET says nothing about it.
TEST_F(LockOfARegistry, ADeniedGetIsNotLockedForCrio) {
  std::atomic<bool> head = false;
  registry_.Answer([&head](const tests::WireRequest& request) -> std::optional<tests::FakeReply> {
    if (request.method == "HEAD") head = true;
    if (head || request.target.find("/manifests/") == std::string::npos) return std::nullopt;
    return tests::FakeReply{.status = 403};
  });
  EXPECT_EQ(LockOf({}, NodeRuntime::kCrio).exit, kNegative);
  EXPECT_FALSE(locked());
  EXPECT_EQ(LockOf({}, NodeRuntime::kContainerd).exit, kOk);
  EXPECT_TRUE(locked());
}

TEST_F(LockOfARegistry, WhatBothTakeIsLockedWithoutAWord) {
  for (NodeRuntime runtime : {NodeRuntime::kContainerd, NodeRuntime::kCrio}) {
    const Ran ran = LockOf({.content_type = kIndexType, .body = "{\"schemaVersion\":2}"}, runtime);
    EXPECT_EQ(ran.exit, kOk);
    EXPECT_EQ(ran.err, "");
    EXPECT_TRUE(locked());
  }
}

TEST_F(LockOfARegistry, WhatCannotBeReadHereIsNoRefusalOfTheRegistry) {
  const std::string deep = std::string(40, '[') + std::string(40, ']');
  const Ran ran =
      LockOf({.content_type = kIndexType, .body = "{\"a\":" + deep + "}"}, NodeRuntime::kContainerd);
  EXPECT_EQ(ran.exit, kUnreachable);
  EXPECT_NE(ran.err.find("only a pull can tell"), std::string::npos) << ran;
  EXPECT_FALSE(locked());
}

struct LockMistake {
  std::string name;
  std::string timeout;
  std::string file;  // of a.txt, bad.txt, locked.txt, -
  std::string says;
};

class LockRefused : public testing::TestWithParam<LockMistake> {};

TEST_P(LockRefused, WithASentence) {
  tests::TempDir dir;
  dir.Write("a.txt", "q.io/a@" + kOne + "\n");
  dir.Write("bad.txt", "q.io/A\n");
  dir.Write("locked.txt", "q.io/a@" + kOne + "\n");
  dir.Write("locked.txt.lock", "kind: X\n");
  const std::string& file = GetParam().file;
  Ran ran = Lock({.files = {file == "-" ? file : dir / file}, .timeout = GetParam().timeout});
  EXPECT_EQ(ran.exit, kBadInput);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find(GetParam().says), std::string::npos) << ran;
  EXPECT_FALSE(base::KindOf(dir / "a.txt.lock"));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, LockRefused,
    testing::Values(LockMistake{"NoDuration", "x", "a.txt", "--timeout must be a duration such as 90s or 5m"},
                    LockMistake{"NoTime", "0s", "a.txt", "--timeout must be"},
                    LockMistake{"BadList", "5m", "bad.txt", "bad.txt:1:1: "},
                    LockMistake{"BadLock", "5m", "locked.txt", "locked.txt.lock:1:7: kind"},
                    LockMistake{"StandardInput", "5m", "-", "a lock is written beside its list"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::ctl::list_lock_test
