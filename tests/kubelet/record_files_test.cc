#include "kubelet/record_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

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

}  // namespace
}  // namespace prefetch::kubelet::record_files_test
