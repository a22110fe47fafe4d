#include "kubelet/verdict_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/fs.h"
#include "kubelet/records.h"
#include "temp_dir.h"

namespace prefetch::kubelet::record_files_test {
namespace {

using State = FileContent::State;

TEST(RecordFiles, AreFoundByTheirNames) {
  tests::TempDir root;
  EXPECT_EQ(ReadRecordFile(root.path(), "R").state, State::kAbsent);
  EXPECT_EQ(ReadIntentFile(root.path(), "nginx").state, State::kAbsent);
  root.Write("image_manager/pulled/" + FileNameFor("R"), "record");
  root.Write("image_manager/pulling/" + FileNameFor("nginx"), "intent");
  root.Write("image_manager/pulled/" + FileNameFor("S") + ".tmp", "half written");
  EXPECT_EQ(ReadRecordFile(root.path(), "R").content, "record");
  EXPECT_EQ(ReadIntentFile(root.path(), "nginx").content, "intent");
  EXPECT_EQ(ReadRecordFile(root.path(), "nginx").state, State::kAbsent);
  EXPECT_EQ(ReadRecordFile(root.path(), "S").state, State::kAbsent);
}

TEST(RecordFiles, WhatCannotBeReadIsNotAbsent) {
  tests::TempDir root;
  EXPECT_EQ(ReadRecordFile(root / "none", "R").state, State::kUnreadable);
  root.Write("image_manager/pulled/" + FileNameFor("folder") + "/x", "");
  EXPECT_EQ(ReadRecordFile(root.path(), "folder").state, State::kUnreadable);
  ASSERT_EQ(::mkfifo((root / ("image_manager/pulled/" + FileNameFor("pipe"))).c_str(), 0600), 0);
  EXPECT_EQ(ReadRecordFile(root.path(), "pipe").state, State::kUnreadable);
  root.Write("image_manager/pulled/" + FileNameFor("huge"), std::string((8 << 20) + 1, ' '));
  EXPECT_EQ(ReadRecordFile(root.path(), "huge").state, State::kUnreadable);
}

// A folder that is held after its name has gone, as a bind mount in a container holds it.
class HeldFolder {
 public:
  explicit HeldFolder(const tests::TempDir& root) {
    root.Write("host/image_manager/pulled/x", "");
    fd_ = base::Fd(::open((root / "host/image_manager").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    std::filesystem::create_directory(root / "kubelet");
    std::filesystem::create_directory_symlink("/proc/self/fd/" + std::to_string(fd_.get()),
                                              root / "kubelet/image_manager");
  }

 private:
  base::Fd fd_;
};

TEST(RecordFiles, OfAFolderThatWasReplacedNothingIsKnown) {
  tests::TempDir root;
  HeldFolder held(root);
  const std::string kubelet = root / "kubelet";
  EXPECT_FALSE(RecordsFolderIsReplaced(kubelet));
  EXPECT_EQ(ReadRecordFile(kubelet, "R").state, State::kAbsent);
  std::filesystem::remove_all(root / "host/image_manager");
  root.Write("host/image_manager/pulled/" + FileNameFor("R"), "a record of the new folder");
  EXPECT_TRUE(RecordsFolderIsReplaced(kubelet));
  EXPECT_EQ(ReadRecordFile(kubelet, "R").state, State::kUnreadable);
  EXPECT_EQ(ReadIntentFile(kubelet, "nginx").state, State::kUnreadable);
}

}  // namespace
}  // namespace prefetch::kubelet::record_files_test
