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

FileContent Record(const std::string& root, const std::string& id) {
  return ReadKubeletFiles(root, "nginx", id).record;
}

FileContent Intent(const std::string& root) {
  return ReadKubeletFiles(root, "nginx", "R").intent;
}

TEST(RecordFiles, AreFoundByTheirNames) {
  tests::TempDir root;
  EXPECT_EQ(Record(root.path(), "R").state, Reading::kAbsent);
  EXPECT_EQ(Intent(root.path()).state, Reading::kAbsent);
  root.Write("image_manager/pulled/" + FileNameFor("R"), "record");
  root.Write("image_manager/pulling/" + FileNameFor("nginx"), "intent");
  root.Write("image_manager/pulled/" + FileNameFor("S") + ".tmp", "half written");
  EXPECT_EQ(Record(root.path(), "R").content, "record");
  EXPECT_EQ(Intent(root.path()).content, "intent");
  EXPECT_EQ(Record(root.path(), "nginx").state, Reading::kAbsent);
  EXPECT_EQ(Record(root.path(), "S").state, Reading::kAbsent);
}

TEST(RecordFiles, WhatCannotBeReadIsNotAbsent) {
  tests::TempDir root;
  EXPECT_EQ(Record(root / "none", "R").state, Reading::kUnreadable);
  root.Write("image_manager/pulled/" + FileNameFor("folder") + "/x", "");
  EXPECT_EQ(Record(root.path(), "folder").state, Reading::kUnreadable);
  ASSERT_EQ(::mkfifo((root / ("image_manager/pulled/" + FileNameFor("pipe"))).c_str(), 0600), 0);
  EXPECT_EQ(Record(root.path(), "pipe").state, Reading::kUnreadable);
  root.Write("image_manager/pulled/" + FileNameFor("huge"), std::string((8 << 20) + 1, ' '));
  EXPECT_EQ(Record(root.path(), "huge").state, Reading::kUnreadable);
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
  EXPECT_EQ(Record(kubelet, "R").state, Reading::kAbsent);
  std::filesystem::remove_all(root / "host/image_manager");
  root.Write("host/image_manager/pulled/" + FileNameFor("R"), "a record of the new folder");
  EXPECT_TRUE(RecordsFolderIsReplaced(kubelet));
  EXPECT_EQ(Record(kubelet, "R").state, Reading::kUnreadable);
  EXPECT_EQ(Intent(kubelet).state, Reading::kUnreadable);
}

}  // namespace
}  // namespace prefetch::kubelet::record_files_test
