#include "list/watcher.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/channel.h"
#include "base/log.h"
#include "fakes/fake_clock.h"
#include "temp_dir.h"

namespace prefetch::list::watcher_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// A watcher that never polls, so that what it finds came by inotify, on a folder of its own.
class ListWatcherTest : public testing::Test {
 protected:
  ListWatcherTest() {
    base::SetLogSink([](std::string_view) {});
  }
  ~ListWatcherTest() override { base::SetLogSink(nullptr); }

  void Watch(const std::string& path, WatchTiming timing = {.poll = std::chrono::hours(1)}) {
    watcher_.emplace(std::vector<std::string>{path}, Capabilities{}, clock_, timing);
    watcher_->Start([this](plan::ImageList list) { lists_.Push(std::move(list)); });
    ASSERT_TRUE(lists_.PopUntil(steady_clock::now() + seconds(10))) << "the first list always comes";
  }

  // Waits for a list with these images, one at a line; false after 10 s. Sets how long it took.
  bool Becomes(const std::vector<std::string>& images) {
    auto start = steady_clock::now();
    while (auto list = lists_.PopUntil(start + seconds(10))) {
      std::vector<std::string> names;
      for (const plan::DesiredImage& image : list->images) names.push_back(image.reference.written());
      if (names != images) continue;
      took_ = steady_clock::now() - start;
      return true;
    }
    return false;
  }

  tests::TempDir root_;
  base::SystemClock clock_;
  base::Channel<plan::ImageList> lists_;
  std::optional<ListWatcher> watcher_;
  steady_clock::duration took_{};
};

TEST_F(ListWatcherTest, PlainEdit) {
  root_.Write("l/a.txt", "x\n");
  Watch(root_ / "l");
  root_.Write("l/a.txt", "x\ny\n");
  EXPECT_TRUE(Becomes({"x", "y"}));
  EXPECT_LT(took_, seconds(2)) << "100 ms are promised; a busy machine gets more";
}

TEST_F(ListWatcherTest, EditorThatReplacesTheFile) {
  root_.Write("l/a.txt", "x\n");
  Watch(root_ / "l/a.txt");
  fs::rename(root_ / "l/a.txt", root_ / "l/a.txt~");
  root_.Write("l/4913", "x\ny\n");
  fs::rename(root_ / "l/4913", root_ / "l/a.txt");
  EXPECT_TRUE(Becomes({"x", "y"}));
}

TEST_F(ListWatcherTest, ConfigMapSwap) {
  root_.Write("cm/..1/a.txt", "x\n");
  fs::create_symlink("..1", root_ / "cm/..data");
  fs::create_symlink("..data/a.txt", root_ / "cm/a.txt");
  Watch(root_ / "cm");
  for (int i = 2; i < 5; i++) {
    std::string folder = ".." + std::to_string(i);
    root_.Write("cm/" + folder + "/a.txt", "x\ny" + std::to_string(i) + "\n");
    fs::create_symlink(folder, root_ / "cm/..data_tmp");
    fs::rename(root_ / "cm/..data_tmp", root_ / "cm/..data");
    fs::remove_all(root_ / ("cm/.." + std::to_string(i - 1)));
    EXPECT_TRUE(Becomes({"x", "y" + std::to_string(i)}));
  }
}

TEST_F(ListWatcherTest, AFileOfAConfigMapAskedForByName) {
  root_.Write("cm/..1/a.txt", "x\n");
  fs::create_symlink("..1", root_ / "cm/..data");
  fs::create_symlink("..data/a.txt", root_ / "cm/a.txt");
  Watch(root_ / "cm/a.txt");
  root_.Write("cm/..2/a.txt", "y\n");
  fs::create_symlink("..2", root_ / "cm/..data_tmp");
  fs::rename(root_ / "cm/..data_tmp", root_ / "cm/..data");
  EXPECT_TRUE(Becomes({"y"}));
}

TEST_F(ListWatcherTest, AFolderThatComesLater) {
  Watch(root_ / "etc/prefetchd/l");
  root_.Write("etc/prefetchd/l/a.txt", "x\n");
  EXPECT_TRUE(Becomes({"x"}));
  root_.Write("etc/prefetchd/l/b.txt", "y\n");
  EXPECT_TRUE(Becomes({"x", "y"}));
}

TEST_F(ListWatcherTest, AFolderThatIsReplaced) {
  root_.Write("l/a.txt", "x\n");
  root_.Write("new/a.txt", "y\n");
  Watch(root_ / "l");
  fs::rename(root_ / "l", root_ / "old");
  fs::rename(root_ / "new", root_ / "l");
  EXPECT_TRUE(Becomes({"y"}));
  root_.Write("l/a.txt", "z\n");
  EXPECT_TRUE(Becomes({"z"}));
}

TEST_F(ListWatcherTest, ARemovedFile) {
  root_.Write("l/a.txt", "x\n");
  root_.Write("l/b.txt", "y\n");
  Watch(root_ / "l");
  fs::remove(root_ / "l/a.txt");
  EXPECT_TRUE(Becomes({"y"}));
}

TEST_F(ListWatcherTest, PollFindsWhatInotifyCannotSee) {
  root_.Write("elsewhere/a.txt", "x\n");
  fs::create_directories(root_ / "l");
  fs::create_symlink("../elsewhere/a.txt", root_ / "l/a.txt");
  Watch(root_ / "l", {.poll = milliseconds(20)});
  root_.Write("elsewhere/a.txt", "y\n");
  EXPECT_TRUE(Becomes({"y"}));
}

// `sort >list.txt` empties the file at once, and writes it much later.
TEST_F(ListWatcherTest, AFileIsNotReadWhileSomebodyWritesIt) {
  root_.Write("l/a.txt", "x\n");
  Watch(root_ / "l", {.poll = milliseconds(20)});
  std::ofstream slow(root_ / "l/a.txt", std::ios::trunc);
  slow << "y\n" << std::flush;
  std::ofstream fresh(root_ / "l/c.txt");
  fresh << "c\n" << std::flush;
  root_.Write("l/b.txt", "b\n");
  EXPECT_TRUE(Becomes({"x", "b"})) << "all of a.txt as it was, and nothing of c.txt";
  root_.Write("l/b.txt", "b\nd\n");
  EXPECT_TRUE(Becomes({"x", "b", "d"}));
  slow << "z\n" << std::flush;
  slow.close();
  EXPECT_TRUE(Becomes({"y", "z", "b", "d"}));
  fresh.close();
  EXPECT_TRUE(Becomes({"y", "z", "b", "d", "c"}));
}

TEST_F(ListWatcherTest, AFileThatNobodyClosesIsReadInTheEnd) {
  root_.Write("l/a.txt", "x\n");
  Watch(root_ / "l", {.poll = milliseconds(20), .unclosed = milliseconds(100)});
  std::ofstream open(root_ / "l/a.txt", std::ios::trunc);
  open << "y\n" << std::flush;
  EXPECT_TRUE(Becomes({"y"}));
}

TEST_F(ListWatcherTest, AnErrorIsAChangeAndKeepsTheList) {
  root_.Write("l/a.txt", "x\n");
  Watch(root_ / "l");
  root_.Write("l/a.txt", "BAD\n");
  auto list = lists_.PopUntil(steady_clock::now() + seconds(10));
  ASSERT_TRUE(list);
  EXPECT_EQ(list->sources[0].error, "a.txt:1:1: image name \"BAD\": path must be lowercase");
  EXPECT_EQ(list->images.size(), 1U);
}

TEST_F(ListWatcherTest, TheFirstListWaitsForAFileThatIsEmpty) {
  const std::string file = root_.Write("l/a.txt", "");
  watcher_.emplace(std::vector<std::string>{file}, Capabilities{}, clock_,
                   WatchTiming{.poll = std::chrono::hours(1), .blank_grace = std::chrono::minutes(1)});
  watcher_->Start([this](plan::ImageList list) { lists_.Push(std::move(list)); });
  EXPECT_FALSE(lists_.PopUntil(steady_clock::now() + milliseconds(100)));
  root_.Write("l/a.txt", "x\n");
  auto list = lists_.PopUntil(steady_clock::now() + seconds(10));
  // A file that is open does not exist yet.
  while (list && list->sources.empty()) list = lists_.PopUntil(steady_clock::now() + seconds(10));
  ASSERT_TRUE(list);
  EXPECT_EQ(list->images.size(), 1U);
}

TEST_F(ListWatcherTest, AnotherFileDoesNotMakeATruncatedOneEmpty) {
  root_.Write("l/a.txt", "x\n");
  tests::FakeClock clock;
  watcher_.emplace(std::vector<std::string>{root_ / "l"}, Capabilities{}, clock,
                   WatchTiming{.poll = std::chrono::hours(1), .blank_grace = std::chrono::minutes(1)});
  watcher_->Start([this](plan::ImageList list) { lists_.Push(std::move(list)); });
  EXPECT_TRUE(Becomes({"x"}));
  root_.Write("l/a.txt", "");
  root_.Write("l/b.txt", "y\n");
  EXPECT_TRUE(Becomes({"x", "y"}));
  root_.Write("l/c.txt", "z\n");
  EXPECT_TRUE(Becomes({"x", "y", "z"}));
  clock.Advance(std::chrono::minutes(1));
  root_.Write("l/d.txt", "w\n");
  EXPECT_TRUE(Becomes({"y", "z", "w"}));
}

TEST_F(ListWatcherTest, AListThatIsReallyEmptyIsInForceInTheEnd) {
  root_.Write("l/a.txt", "");
  watcher_.emplace(std::vector<std::string>{root_ / "l"}, Capabilities{}, clock_,
                   WatchTiming{.poll = std::chrono::hours(1), .blank_grace = milliseconds(10)});
  watcher_->Start([this](plan::ImageList list) { lists_.Push(std::move(list)); });
  auto list = lists_.PopUntil(steady_clock::now() + seconds(10));
  ASSERT_TRUE(list);
  ASSERT_EQ(list->sources.size(), 1U);
  EXPECT_TRUE(list->sources[0].loaded_at);
}

TEST_F(ListWatcherTest, StopsAtOnce) {
  Watch(root_ / "l");
  auto start = steady_clock::now();
  watcher_.reset();
  EXPECT_LT(steady_clock::now() - start, seconds(2));
}

}  // namespace
}  // namespace prefetch::list::watcher_test
