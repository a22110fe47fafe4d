#include "base/fs.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <utility>

#include "settle.h"
#include "temp_dir.h"

namespace prefetch::base::stamped_files_test {
namespace {

class MadeOfFilesTest : public testing::Test {
 protected:
  // Returns the file's content, and counts the readings.
  std::shared_ptr<const std::string> Look() {
    return made_.Get([this](StampedFiles& files) {
      loads_++;
      auto text = files.Read(dir_ / "file", 100);
      if (change_) dir_.Write("file", std::exchange(change_, nullptr));
      return text ? *text : "absent";
    });
  }

  tests::TempDir dir_;
  const char* change_ = nullptr;  // what the file says from right after it was read
  int loads_ = 0;
  CachedFromFiles<std::string> made_;
};

TEST_F(MadeOfFilesTest, IsLoadedAgainWhenAFileHasChanged) {
  EXPECT_EQ(*Look(), "absent");
  dir_.Write("file", "one");
  tests::Settle(dir_);
  EXPECT_EQ(*Look(), "one");
  EXPECT_EQ(*Look(), "one");
  EXPECT_EQ(loads_, 2);
  std::filesystem::remove(dir_ / "file");
  EXPECT_EQ(*Look(), "absent");
}

// The second change may have the first one's size and, within a tick of the kernel's clock, its stamp.
TEST_F(MadeOfFilesTest, AFileThatChangedAMomentAgoIsReadAgain) {
  for (const char* text : {"one", "two", "six", "ten"}) {
    dir_.Write("file", text);
    EXPECT_EQ(*Look(), text);
  }
}

// Else a file of before the clock was set back would be read at each look, for hours.
TEST(IsSettled, SoIsAFileOfTheFuture) {
  const std::int64_t now =
      std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::int64_t hour = std::chrono::nanoseconds(std::chrono::hours(1)).count();
  EXPECT_TRUE(IsSettled({.changed_ns = now - hour}));
  EXPECT_FALSE(IsSettled({.changed_ns = now}));
  EXPECT_TRUE(IsSettled({.changed_ns = now + hour}));
}

TEST_F(MadeOfFilesTest, AChangeDuringTheReadingIsSeenTheNextTime) {
  dir_.Write("file", "one");
  change_ = "another";
  EXPECT_EQ(*Look(), "one");
  EXPECT_EQ(*Look(), "another");
}

TEST_F(MadeOfFilesTest, WhatSaysTheSameIsTheSameObject) {
  dir_.Write("file", "one");
  auto before = Look();
  std::filesystem::rename(dir_.Write("new", "one"), dir_ / "file");
  EXPECT_EQ(Look(), before);
  EXPECT_EQ(loads_, 2);
}

TEST(StampedFiles, EveryKindOfReadingIsWatched) {
  tests::TempDir dir;
  dir.Write("folder/file", "one");
  const struct {
    const char* how;
    std::function<void(StampedFiles&)> read;
    std::function<void()> change;
  } rows[] = {
      {"Read", [&](StampedFiles& files) { (void)files.Read(dir / "folder/file", 100); },
       [&] { dir.Write("folder/file", "longer"); }},
      {"List", [&](StampedFiles& files) { (void)files.List(dir / "folder", 100); },
       [&] { std::filesystem::create_directory(dir / "folder/sub"); }},
      {"KindOf", [&](StampedFiles& files) { (void)files.KindOf(dir / "absent"); },
       [&] { dir.Write("absent", ""); }},
  };
  tests::Settle(dir);
  for (const auto& row : rows) {
    StampedFiles files;
    row.read(files);
    EXPECT_FALSE(files.HaveChanged()) << row.how;
    row.change();
    EXPECT_TRUE(files.HaveChanged()) << row.how;
  }
}

}  // namespace
}  // namespace prefetch::base::stamped_files_test
