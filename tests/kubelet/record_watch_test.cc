// What RecordWatch tells of real folders.
#include "kubelet/verdict_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "base/fs.h"
#include "temp_dir.h"

namespace prefetch::tests::record_watch_test {
namespace {

using std::chrono::seconds;

// What the watch has told so far, for a test that waits for it.
class Heard {
 public:
  kubelet::RecordWatch::Callback Callback() {
    return [this](kubelet::FileChanges changes) {
      std::lock_guard lock(mutex_);
      changes_.Add(std::move(changes));
      calls_++;
      condition_.notify_all();
    };
  }
  bool Until(const std::function<bool(const kubelet::FileChanges&)>& condition) {
    std::unique_lock lock(mutex_);
    return condition_.wait_for(lock, seconds(20), [&] { return condition(changes_); });
  }
  void Forget() {
    std::lock_guard lock(mutex_);
    changes_ = {};
    calls_ = 0;
  }
  int calls() const {
    std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable condition_;
  kubelet::FileChanges changes_;
  int calls_ = 0;
};

class RecordWatchTest : public testing::Test {
 protected:
  void MakeFolders() {
    std::filesystem::create_directories(pulled_);
    std::filesystem::create_directories(dir_ / "image_manager/pulling");
  }
  // Starts, and waits until the folders that are there are watched.
  void Start() {
    watch_.emplace(dir_.path(), heard_.Callback());
    ASSERT_TRUE(heard_.Until([](const auto& changes) { return changes.all; }));
    heard_.Forget();
  }

  TempDir dir_;
  std::string pulled_ = dir_ / "image_manager/pulled";
  Heard heard_;
  std::optional<kubelet::RecordWatch> watch_;
};

TEST_F(RecordWatchTest, NamesTheFileThatWasReplaced) {
  MakeFolders();
  Start();
  ASSERT_TRUE(base::WriteFileAtomically(pulled_ + "/sha256-1", "x", 0600));
  EXPECT_TRUE(heard_.Until([](const auto& changes) { return changes.names.contains("sha256-1"); }));
}

TEST_F(RecordWatchTest, NamesFilesThatGoOrAreWrittenInPlaceInEitherFolder) {
  MakeFolders();
  dir_.Write("image_manager/pulling/sha256-2", "x");
  Start();
  std::filesystem::remove(dir_ / "image_manager/pulling/sha256-2");
  dir_.Write("image_manager/pulled/sha256-3", "x");
  EXPECT_TRUE(heard_.Until([](const auto& changes) {
    return changes.names.contains("sha256-2") && changes.names.contains("sha256-3");
  }));
}

TEST_F(RecordWatchTest, TemporaryFilesAreNoNews) {
  MakeFolders();
  Start();
  dir_.Write("image_manager/pulled/sha256-4.tmp", "x");
  dir_.Write("image_manager/pulled/sha256-5", "x");
  ASSERT_TRUE(heard_.Until([](const auto& changes) { return changes.names.contains("sha256-5"); }));
  EXPECT_TRUE(heard_.Until([](const auto& changes) { return !changes.names.contains("sha256-4.tmp"); }));
}

TEST_F(RecordWatchTest, FoldersThatComeLaterAreWatched) {
  Start();
  MakeFolders();
  ASSERT_TRUE(heard_.Until([](const auto& changes) { return changes.all; }));
  // However the making of the folders fell into rounds, a file of now is told.
  dir_.Write("image_manager/pulled/sha256-6", "x");
  EXPECT_TRUE(
      heard_.Until([](const auto& changes) { return changes.all || changes.names.contains("sha256-6"); }));
}

TEST_F(RecordWatchTest, AFolderThatGoesOrIsForbiddenIsNews) {
  MakeFolders();
  Start();
  ASSERT_EQ(::chmod(pulled_.c_str(), 0), 0);
  EXPECT_TRUE(heard_.Until([](const auto& changes) { return changes.all; }));
  heard_.Forget();
  std::filesystem::remove_all(dir_ / "image_manager");
  EXPECT_TRUE(heard_.Until([](const auto& changes) { return changes.all; }));
}

TEST_F(RecordWatchTest, AFloodIsToldInFewCalls) {
  MakeFolders();
  Start();
  auto started = std::chrono::steady_clock::now();
  for (int i = 0; i < 500; i++) {  // as kubelet does it: no fsync
    std::ofstream(pulled_ + "/sha256-7.tmp") << i;
    std::filesystem::rename(pulled_ + "/sha256-7.tmp", pulled_ + "/sha256-7");
  }
  auto rounds = (std::chrono::steady_clock::now() - started) / std::chrono::milliseconds(50);
  ASSERT_TRUE(heard_.Until([](const auto& changes) { return changes.names.contains("sha256-7"); }));
  // One a patience, and one more for pauses of this process that count as quiet.
  EXPECT_LE(heard_.calls(), 3 * (rounds + 2));
}

TEST_F(RecordWatchTest, WithoutTheRootItWaitsAndEnds) {
  std::filesystem::remove_all(dir_.path());
  watch_.emplace(dir_.path(), heard_.Callback());
  watch_.reset();
}

}  // namespace
}  // namespace prefetch::tests::record_watch_test
