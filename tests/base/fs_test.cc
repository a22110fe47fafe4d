#include "base/fs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "pipe.h"
#include "temp_dir.h"

namespace {
// Reads of this thread that a signal is yet to interrupt. No file system at hand lets a signal do so.
thread_local int interruptions = 0;
}  // namespace

// In place of the C library's.
extern "C" ssize_t read(int fd, void* buffer, size_t count) {
  if (interruptions > 0) {
    interruptions--;
    errno = EINTR;
    return -1;
  }
  return ::syscall(SYS_read, fd, buffer, count);
}

namespace prefetch::base::fs_test {
namespace {

TEST(ReadFile, RegularFilesOnlyAndNeverBlocks) {
  tests::TempDir dir;
  dir.Write("a", "hello");
  EXPECT_EQ(*ReadFile(dir / "a", 5), "hello");
  EXPECT_EQ(ReadFile(dir / "a", 4).error().code(), Code::kResourceExhausted);
  EXPECT_EQ(ReadFile(dir / "none", 4).error().code(), Code::kNotFound);
  ASSERT_EQ(mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(ReadFile(dir / "fifo", 4).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(ReadFile(dir.path(), 4).error().code(), Code::kInvalidArgument);
  dir.Write("empty", "");
  EXPECT_EQ(*ReadFile(dir / "empty", 0), "");
  dir.Write("big", std::string(300'000, 'x'));
  EXPECT_EQ(ReadFile(dir / "big", 1 << 20)->size(), 300'000U);
}

TEST(ReadFile, AnInterruptedReadGoesOn) {
  tests::TempDir dir;
  dir.Write("a", "whole");
  interruptions = 3;
  auto read = ReadFile(dir / "a", 100);
  EXPECT_EQ(interruptions, 0);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, "whole");
}

TEST(WriteFileAtomically, ReplacesWholeAndLeavesNothingBehind) {
  tests::TempDir dir;
  ASSERT_TRUE(WriteFileAtomically(dir / "f", "one"));
  ASSERT_TRUE(WriteFileAtomically(dir / "f", "two", 0600));
  EXPECT_EQ(*ReadFile(dir / "f", 100), "two");
  EXPECT_EQ(ListDirectory(dir.path(), 10)->size(), 1U);
  const Error absent = WriteFileAtomically(dir / "no/such", "x").error();
  EXPECT_EQ(absent.code(), Code::kNotFound);
  EXPECT_EQ(absent.message(), "create " + dir / "no/such" + ": No such file or directory");
}

TEST(WriteFileAtomically, LinksAndTheModeStay) {
  tests::TempDir dir;
  dir.Write("real", "old");
  ASSERT_EQ(chmod((dir / "real").c_str(), 0600), 0);
  ASSERT_EQ(symlink("real", (dir / "one").c_str()), 0);
  ASSERT_EQ(symlink((dir / "one").c_str(), (dir / "two").c_str()), 0);
  ASSERT_TRUE(WriteFileAtomically(dir / "two", "new"));
  EXPECT_EQ(*ReadFile(dir / "real", 100), "new");
  struct stat info {};
  ASSERT_EQ(lstat((dir / "one").c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
  ASSERT_EQ(lstat((dir / "real").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
  // A link to nothing makes the file that it names, as open(2) does; a circle is an error.
  ASSERT_EQ(symlink("none", (dir / "dangling").c_str()), 0);
  ASSERT_TRUE(WriteFileAtomically(dir / "dangling", "x"));
  EXPECT_EQ(*ReadFile(dir / "none", 100), "x");
  ASSERT_EQ(symlink("circle", (dir / "circle").c_str()), 0);
  EXPECT_FALSE(WriteFileAtomically(dir / "circle/f", "x"));
  EXPECT_FALSE(WriteFileAtomically(dir / "circle", "x"));
}

// Rights of a group stay with that group, and a file in a folder that is closed is written in place.
TEST(WriteFileAtomically, OwnersStay) {
  if (geteuid() != 0) return;  // only root may give files away
  tests::TempDir dir;
  dir.Write("file", "old");
  ASSERT_EQ(chown((dir / "file").c_str(), 1234, 5678), 0);
  ASSERT_EQ(chmod((dir / "file").c_str(), 0660), 0);
  ASSERT_TRUE(WriteFileAtomically(dir / "file", "new"));
  struct stat info {};
  ASSERT_EQ(stat((dir / "file").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 1234U);
  EXPECT_EQ(info.st_gid, 5678U);
  EXPECT_EQ(info.st_mode & 07777, 0660U);
  ASSERT_EQ(chmod((dir / "file").c_str(), 0666), 0);
  ASSERT_EQ(chmod(dir.path().c_str(), 0755), 0);
  setfsuid(4321);
  const Status written = WriteFileAtomically(dir / "file", "newer");
  setfsuid(0);
  EXPECT_TRUE(written) << written.error().message();
  EXPECT_EQ(*ReadFile(dir / "file", 100), "newer");
  EXPECT_EQ(ListDirectory(dir.path(), 10)->size(), 1U);
}

// The link /dev/stdout must not be replaced by a file if the output goes to one.
TEST(WriteFileAtomically, ADescriptorIsWrittenTo) {
  tests::TempDir dir;
  dir.Write("log", "before ");
  Fd log(open((dir / "log").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  ASSERT_EQ(symlink(("/proc/self/fd/" + std::to_string(log.get())).c_str(), (dir / "stdout").c_str()), 0);
  ASSERT_TRUE(WriteFileAtomically(dir / "stdout", "after"));
  EXPECT_EQ(*ReadFile(dir / "log", 100), "before after");
  EXPECT_EQ(ListDirectory(dir.path(), 10)->size(), 2U);
}

// Containers get single files as mounts, which no rename replaces.
TEST(WriteFileAtomically, AMountIsWrittenInPlace) {
  tests::TempDir dir;
  dir.Write("volume", "a longer text");
  dir.Write("file", "");
  const pid_t child = fork();
  if (child == 0) {  // its mounts end with it
    const bool mounted = unshare(CLONE_NEWNS) == 0 && mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         mount((dir / "volume").c_str(), (dir / "file").c_str(), "", MS_BIND, nullptr) == 0;
    _exit(!mounted ? 2 : WriteFileAtomically(dir / "file", "new") ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (geteuid() != 0 && WEXITSTATUS(status) == 2) return;  // only root may mount
  EXPECT_EQ(status, 0);
  EXPECT_EQ(*ReadFile(dir / "volume", 100), "new");
  EXPECT_EQ(ListDirectory(dir.path(), 10)->size(), 2U);
}

TEST(ListDirectory, SortedAndBounded) {
  tests::TempDir dir;
  dir.Write("b", "");
  dir.Write("a", "");
  EXPECT_EQ(*ListDirectory(dir.path(), 2), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(ListDirectory(dir.path(), 1).error().code(), Code::kResourceExhausted);
}

TEST(Paths, AreJoinedByOneSlash) {
  EXPECT_EQ(JoinPath("/a", "b"), "/a/b");
  EXPECT_EQ(JoinPath("/a/", "b"), "/a/b");
  EXPECT_EQ(JoinPath("", "b"), "/b");
  EXPECT_EQ(BaseName("/a/b"), "b");
  EXPECT_EQ(BaseName("b"), "b");
  EXPECT_EQ(BaseName("/a/"), "");
}

TEST(WithoutEndSlashes, LeavesTheRoot) {
  EXPECT_EQ(WithoutTrailingSlashes("/a/b//"), "/a/b");
  EXPECT_EQ(WithoutTrailingSlashes("a"), "a");
  EXPECT_EQ(WithoutTrailingSlashes("//"), "/");
  EXPECT_EQ(WithoutTrailingSlashes(""), "");
}

TEST(PipedFile, GoesOnWhereItStopped) {
  auto [out, in] = tests::Pipe();
  std::string path = "/proc/self/fd/" + std::to_string(out.get());
  PipedFile file;
  ASSERT_EQ(::write(in.get(), "x\n", 2), 2);
  auto open = file.Read(path, 100, std::chrono::milliseconds(0));
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().message(), path + " has not ended: it is read when its writer has closed it");
  ASSERT_EQ(::write(in.get(), "y\n", 2), 2);
  in.Close();
  EXPECT_EQ(*file.Read(path, 100, std::chrono::milliseconds(0)), "x\ny\n");
  out.Close();
  EXPECT_EQ(*file.Read(path, 100, std::chrono::milliseconds(0)), "x\ny\n");
}

// Linux does not report the end of a FIFO with a name to one who opens it behind its writer.
TEST(PipedFile, MayHaveAName) {
  constexpr std::chrono::milliseconds kAtOnce{0};
  tests::TempDir dir;
  ASSERT_EQ(mkfifo((dir / "fifo").c_str(), 0600), 0);
  Fd out(open((dir / "fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  Fd in(open((dir / "fifo").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(::write(in.get(), "x\n", 2), 2);
  in.Close();
  auto text = PipedFile().Read(tests::PathOf(out), 100, kAtOnce);
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_EQ(*text, "x\n");
  // Nobody may have written to another one yet.
  EXPECT_EQ(PipedFile().Read(dir / "fifo", 100, kAtOnce).error().code(), Code::kUnavailable);
}

TEST(PipedFile, IsNotEndless) {
  auto [out, in] = tests::Pipe();
  std::string path = tests::PathOf(out);
  PipedFile file;
  ASSERT_EQ(::write(in.get(), "0123456789", 10), 10);
  EXPECT_EQ(file.Read(path, 9, std::chrono::milliseconds(0)).error().message(),
            path + " is longer than 9 bytes");
  EXPECT_FALSE(file.Read(path, 9, std::chrono::milliseconds(0)));
}

}  // namespace
}  // namespace prefetch::base::fs_test
