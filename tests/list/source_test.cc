#include "list/source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/channel.h"
#include "base/fs.h"
#include "base/log.h"
#include "fakes/fake_clock.h"
#include "list/watcher.h"
#include "pipe.h"
#include "temp_dir.h"

namespace prefetch::list::source_test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// Publishes a ConfigMap volume as kubelet does: a new folder, then `..data` swapped by a rename.
void PublishConfigMap(const tests::TempDir& root, const std::string& volume, const std::string& version,
                      const std::vector<std::pair<std::string, std::string>>& files) {
  for (const auto& [name, content] : files) root.Write(volume + "/.." + version + "/" + name, content);
  fs::create_directories(root / volume);
  fs::create_symlink(".." + version, root / (volume + "/..data_tmp"));
  fs::rename(root / (volume + "/..data_tmp"), root / (volume + "/..data"));
  for (const auto& file : files) {
    std::string link = root / (volume + "/" + file.first);
    if (!fs::is_symlink(link)) fs::create_symlink("..data/" + file.first, link);
  }
}

struct ListReading {
  plan::ImageList list;
  bool changed = false;  // as ListSources::Refresh says
};

// "name entries [error]" a source.
std::vector<std::string> Summary(const ListReading& reading) {
  std::vector<std::string> lines;
  for (const plan::ListSource& source : reading.list.sources) {
    std::string line = source.name + " " + std::to_string(source.entries);
    if (!source.loaded_at) line += " none in force";
    lines.push_back(line + (source.error.empty() ? "" : ": " + source.error));
  }
  return lines;
}

using Lines = std::vector<std::string>;
constexpr base::WallTime kNow{};

ListReading At(ListSources& sources, milliseconds time = {}) {
  const bool changed = sources.Refresh(kNow, {}, base::TimePoint(time));
  return {sources.List(), changed};
}

TEST(ListSources, ADirectoryIsItsListFiles) {
  tests::TempDir root;
  root.Write("l/b.txt", "x\ny\n");
  root.Write("l/a.yaml", "");
  root.Write("l/README.md", "no");
  root.Write("l/.hidden.txt", "no!\n");
  root.Write("l/sub/c.txt", "deeper\n");
  ListSources sources({root / "l"}, {});
  ListReading reading = At(sources);
  EXPECT_TRUE(reading.changed);
  EXPECT_EQ(Summary(reading), (Lines{"a.yaml 0", "b.txt 2"}));
  EXPECT_EQ(reading.list.images[1].from, (Lines{"b.txt:2"}));
  EXPECT_EQ(reading.list.warnings, (Lines{"a.yaml: lists no images"}));
  EXPECT_FALSE(At(sources).changed);
}

TEST(ListSources, AFileThatIsEmptyForAMomentKeepsItsEntries) {
  for (const char* blank : {"", "\n", " \r\n\t", "# the team's images\n\n"}) {
    tests::TempDir root;
    root.Write("l/a.txt", "x\ny\n");
    ListSources sources({root / "l"}, {}, seconds(3), seconds(2));
    EXPECT_EQ(Summary(At(sources, seconds(0))), (Lines{"a.txt 2"}));
    EXPECT_FALSE(sources.NextBlankDeadline());
    root.Write("l/a.txt", blank);
    ListReading reading = At(sources, seconds(1));
    EXPECT_FALSE(reading.changed);
    EXPECT_EQ(Summary(reading), (Lines{"a.txt 2"}));
    EXPECT_EQ(sources.NextBlankDeadline(), base::TimePoint(seconds(3)));
    EXPECT_EQ(Summary(At(sources, milliseconds(2999))), (Lines{"a.txt 2"})) << "readings do not count";
    root.Write("l/a.txt", "z\n");
    EXPECT_EQ(Summary(At(sources, seconds(4))), (Lines{"a.txt 1"}));
    root.Write("l/a.txt", blank);
    EXPECT_EQ(Summary(At(sources, seconds(5))), (Lines{"a.txt 1"})) << "it has been blank anew";
    EXPECT_EQ(Summary(At(sources, seconds(7))), (Lines{"a.txt 0"})) << "it may be meant";
    EXPECT_FALSE(sources.NextBlankDeadline());
  }
}

TEST(ListSources, AFileThatIsBlankForAMomentEndsNoError) {
  tests::TempDir root;
  root.Write("l/a.txt", "BAD\n");
  ListSources sources({root / "l"}, {}, seconds(3), seconds(2));
  const Lines broken = Summary(At(sources, seconds(0)));
  root.Write("l/a.txt", "");
  EXPECT_EQ(Summary(At(sources, seconds(0))), broken);
  EXPECT_EQ(Summary(At(sources, seconds(1))), broken);
  EXPECT_EQ(Summary(At(sources, seconds(2))), (Lines{"a.txt 0"}));
}

TEST(ListSources, TheTimeOfABlankFileBeginsAfterItsWriter) {
  tests::TempDir root;
  root.Write("l/a.txt", "x\n");
  ListSources sources({root / "l"}, {}, seconds(3), seconds(2));
  At(sources, seconds(0));
  const std::string file = root.Write("l/a.txt", "");
  EXPECT_EQ(Summary(At(sources, seconds(0))), (Lines{"a.txt 1"}));
  sources.Refresh(kNow, {file}, base::TimePoint(seconds(5)));
  EXPECT_FALSE(sources.NextBlankDeadline()) << "the end of the writing is an event";
  EXPECT_EQ(Summary(At(sources, seconds(6))), (Lines{"a.txt 1"}));
}

// The agent starts between a writer's truncation and its writing.
TEST(ListSources, ANewBlankFileExistsOnceItHasBeenBlankForLong) {
  tests::TempDir root;
  root.Write("l/a.txt", "\n");
  ListSources sources({root / "l"}, {}, seconds(3), seconds(2));
  EXPECT_EQ(Summary(At(sources, seconds(0))), Lines{});
  EXPECT_TRUE(sources.HasNewBlank());
  EXPECT_EQ(Summary(At(sources, milliseconds(200))), Lines{}) << "readings do not count";
  root.Write("l/a.txt", "x\n");
  root.Write("l/b.txt", "");
  EXPECT_EQ(Summary(At(sources, seconds(1))), (Lines{"a.txt 1"}));
  EXPECT_TRUE(sources.HasNewBlank());
  EXPECT_EQ(Summary(At(sources, seconds(2))), (Lines{"a.txt 1"}));
  EXPECT_EQ(sources.NextBlankDeadline(), base::TimePoint(seconds(3)));
  EXPECT_EQ(Summary(At(sources, seconds(3))), (Lines{"a.txt 1", "b.txt 0"})) << "an empty list is a list";
  EXPECT_FALSE(sources.HasNewBlank());
}

TEST(ListSources, ABrokenVersionKeepsTheLastGoodOne) {
  tests::TempDir root;
  std::string file = root.Write("l/a.txt", "x\n");
  root.Write("l/b.txt", "y\n");
  ListSources sources({root / "l"}, {});
  std::string hash = At(sources).list.sources[0].hash;
  root.Write("l/a.txt", "x\nBAD\n");
  root.Write("l/b.txt", "y\nz\n");
  ListReading reading = At(sources);
  EXPECT_TRUE(reading.changed);
  EXPECT_EQ(Summary(reading),
            (Lines{"a.txt 1: a.txt:2:1: image name \"BAD\": path must be lowercase", "b.txt 2"}));
  EXPECT_EQ(reading.list.sources[0].hash, hash);
  EXPECT_EQ(reading.list.images.size(), 3U);
  EXPECT_FALSE(At(sources).changed);
  root.Write("l/a.txt", "x\ngood\n");
  EXPECT_EQ(Summary(At(sources)), (Lines{"a.txt 2", "b.txt 2"}));
}

TEST(ListSources, AfterAStartThereIsNoLastGoodOne) {
  tests::TempDir root;
  root.Write("l/a.txt", "BAD\n");
  ListSources sources({root / "l"}, {});
  ListReading reading = At(sources);
  EXPECT_EQ(Summary(reading),
            (Lines{"a.txt 0 none in force: a.txt:1:1: image name \"BAD\": path must be lowercase"}));
  EXPECT_EQ(reading.list.sources[0].hash, "");
}

TEST(ListSources, ARemovedFileIsGoneAMissingDirectoryIsNot) {
  tests::TempDir root;
  root.Write("l/a.txt", "x\n");
  root.Write("l/b.txt", "y\n");
  ListSources sources({root / "l"}, {});
  At(sources);
  fs::remove(root / "l/a.txt");
  EXPECT_EQ(Summary(At(sources)), (Lines{"b.txt 1"}));
  fs::rename(root / "l", root / "elsewhere");
  ListReading reading = At(sources);
  EXPECT_TRUE(reading.changed);
  EXPECT_EQ(Summary(reading), (Lines{"b.txt 1: stat " + (root / "l") + ": No such file or directory"}));
  EXPECT_EQ(reading.list.images.size(), 1U);
  EXPECT_FALSE(At(sources).changed);
  fs::rename(root / "elsewhere", root / "l");
  EXPECT_EQ(Summary(At(sources)), (Lines{"b.txt 1"}));
  fs::remove(root / "l/b.txt");
  EXPECT_EQ(Summary(At(sources)), (Lines{}));
}

TEST(ListSources, APathThatIsNotThereYetIsSaid) {
  tests::TempDir root;
  ListSources sources({root / "l", root / "one.txt"}, {});
  EXPECT_EQ(Summary(At(sources)),
            (Lines{"l 0 none in force: stat " + (root / "l") + ": No such file or directory",
                   "one.txt 0 none in force: stat " + (root / "one.txt") + ": No such file or directory"}));
  root.Write("l/a.txt", "x\n");
  std::string one = root.Write("one.txt", "y\n");
  EXPECT_EQ(Summary(At(sources)), (Lines{"a.txt 1", "one.txt 1"}));
  fs::remove(one);
  EXPECT_EQ(Summary(At(sources)),
            (Lines{"a.txt 1", "one.txt 1: stat " + one + ": No such file or directory"}))
      << "a file that was asked for by name does not go quietly";
}

TEST(ListSources, ConfigMapVolumes) {
  tests::TempDir root;
  PublishConfigMap(root, "cm", "1", {{"a.txt", "x\n"}, {"b.txt", "y\n"}});
  ListSources sources({root / "cm"}, {});
  EXPECT_EQ(Summary(At(sources)), (Lines{"a.txt 1", "b.txt 1"}));

  PublishConfigMap(root, "cm", "2", {{"a.txt", "x\nz\n"}});
  EXPECT_EQ(At(sources).list.images.size(), 3U) << "the link to b.txt dangles for a moment: it stays";
  fs::remove(root / "cm/b.txt");
  EXPECT_EQ(Summary(At(sources)), (Lines{"a.txt 2"}));

  fs::remove_all(root / "cm");
  fs::create_directory(root / "cm");
  EXPECT_EQ(Summary(At(sources)),
            (Lines{"a.txt 2: the volume is not mounted at " + (root / "cm") + " any more"}));

  fs::remove_all(root / "cm");
  PublishConfigMap(root, "cm", "3", {});
  EXPECT_EQ(Summary(At(sources)), (Lines{})) << "a ConfigMap without keys is a list of none";
}

TEST(ListSources, WhatIsNoFileIsAnErrorAndNeverBlocks) {
  tests::TempDir root;
  fs::create_directories(root / "l/dir.txt");
  ASSERT_EQ(::mkfifo((root / "l/fifo.txt").c_str(), 0644), 0);
  fs::create_symlink("loop.txt", root / "l/loop.txt");
  fs::create_symlink("/nowhere", root / "l/nowhere.txt");
  fs::create_symlink(".", root / "l/here.txt");
  fs::create_symlink("/dev/zero", root / "l/zero.txt");
  fs::create_symlink("..", root / "l/up");
  root.Write("l/good.txt", "x\n");
  root.Write("l/long.txt", std::string((1 << 20) + 1, '\n'));
  ListSources sources({root / "l"}, {});
  std::string l = root / "l/";
  EXPECT_EQ(Summary(At(sources)),
            (Lines{"dir.txt 0 none in force: " + l + "dir.txt is not a regular file",
                   "fifo.txt 0 none in force: " + l + "fifo.txt is not a regular file", "good.txt 1",
                   "here.txt 0 none in force: " + l + "here.txt is not a regular file",
                   "long.txt 0 none in force: " + l + "long.txt is longer than 1048576 bytes",
                   "loop.txt 0 none in force: open " + l + "loop.txt: Too many levels of symbolic links",
                   "nowhere.txt 0 none in force: open " + l + "nowhere.txt: No such file or directory",
                   "zero.txt 0 none in force: " + l + "zero.txt is not a regular file"}));
}

// The name of a file does not matter. In a directory, the name decides what belongs to the list.
TEST(ListSources, AFileIsReadByItsContent) {
  tests::TempDir root;
  const std::string yaml = "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- image: x\n";
  const std::string json =
      R"({"apiVersion":"prefetchd.dev/v1alpha1","kind":"ImageList","images":[{"image":"x"}]})";
  const std::string flow = "{apiVersion: prefetchd.dev/v1alpha1, kind: ImageList, images: [{image: x}]}\n";
  const std::pair<const char*, std::string> kFiles[] = {
      {"images", "x\n"},
      {"images.list", yaml},
      {"images.conf", json},
      {".images", "# x\n\nx\n"},
      {"a.txt", yaml},
      {"b.txt", "\xEF\xBB\xBF" + yaml},
      {"a.json", yaml},
      {"a.yaml", "x\n"},
      {"b.yaml", json},
      {"c.yaml", flow},
      {"d.yaml", "---\n" + yaml},
      {"e.yaml", "\"kind\": ImageList\n" + yaml.substr(0, 35) + "images: [{image: x}]\n"},
      {"f.txt", "[fd00::1]:5000/x:v1\n"}};
  for (const auto& [name, content] : kFiles) {
    std::string file = root.Write(std::string("l/") + name, content);
    ListSources sources({file}, {});
    EXPECT_EQ(Summary(At(sources)), (Lines{std::string(name) + " 1"}));
  }
  // The same in a directory: the chart's ConfigMap has the key images.yaml for a list of any form.
  ListSources folder({root / "l"}, {});
  EXPECT_EQ(Summary(At(folder)), (Lines{"a.json 1", "a.txt 1", "a.yaml 1", "b.txt 1", "b.yaml 1", "c.yaml 1",
                                        "d.yaml 1", "e.yaml 1", "f.txt 1"}));
  // Its mistakes are those of the form that it has.
  std::string file = root.Write("mistaken", "nginx # web\nx\n");
  ListSources mistaken({file}, {});
  EXPECT_EQ(Summary(At(mistaken)),
            (Lines{"mistaken 0 none in force: mistaken:1:1: must be one image name, without blanks"}));
}

// "--list /dev/stdin", and a shell's <(…): what comes is there once only.
TEST(ListSources, APipeOfTheProcessIsReadOnceToItsEnd) {
  auto [out, in] = tests::Pipe();
  std::string path = tests::PathOf(out);
  ListSources sources({path}, {});
  ASSERT_EQ(::write(in.get(), "x\n", 2), 2);
  ASSERT_EQ(::write(in.get(), "y\n", 2), 2);
  in.Close();
  std::string name = std::to_string(out.get());
  EXPECT_EQ(Summary(At(sources)), (Lines{name + " 2"}));
  ListReading again = At(sources);
  EXPECT_FALSE(again.changed);
  EXPECT_EQ(Summary(again), (Lines{name + " 2"}));
}

TEST(ListSources, EachFileIsOneSourceWithANameOfItsOwn) {
  tests::TempDir root;
  root.Write("a/images.txt", "x\n");
  root.Write("b/images.txt", "BAD\n");
  ListSources sources({root / "a", root / "b/", root / "a/images.txt", root / "a"}, {});
  EXPECT_EQ(
      Summary(At(sources)),
      (Lines{"a/images.txt 1",
             "b/images.txt 0 none in force: b/images.txt:1:1: image name \"BAD\": path must be lowercase"}));
  fs::remove(root / "b/images.txt");
  ListReading reading = At(sources);
  EXPECT_EQ(Summary(reading), (Lines{"images.txt 1"}));
  EXPECT_EQ(reading.list.images[0].from, (Lines{"images.txt:1"}));
}

TEST(SourceNames, AreAsShortAsTheyCanBe) {
  EXPECT_EQ(SourceNames({"/x/a.txt", "/x/b.txt"}), (Lines{"a.txt", "b.txt"}));
  EXPECT_EQ(SourceNames({"/x/1/a.txt", "/y/1/a.txt", "/a.txt", "/b.txt"}),
            (Lines{"x/1/a.txt", "y/1/a.txt", "/a.txt", "b.txt"}));
}

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
  PublishConfigMap(root_, "cm", "1", {{"a.txt", "x\n"}});
  Watch(root_ / "cm");
  for (int i = 2; i < 5; i++) {
    PublishConfigMap(root_, "cm", std::to_string(i), {{"a.txt", "x\ny" + std::to_string(i) + "\n"}});
    fs::remove_all(root_ / ("cm/.." + std::to_string(i - 1)));
    EXPECT_TRUE(Becomes({"x", "y" + std::to_string(i)}));
  }
}

TEST_F(ListWatcherTest, AFileOfAConfigMapAskedForByName) {
  PublishConfigMap(root_, "cm", "1", {{"a.txt", "x\n"}});
  Watch(root_ / "cm/a.txt");
  PublishConfigMap(root_, "cm", "2", {{"a.txt", "y\n"}});
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
}  // namespace prefetch::list::source_test
