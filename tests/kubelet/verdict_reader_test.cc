// VerdictReader's verdicts on real files, and the files that it reads again.
#include "kubelet/verdict_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>

#include "base/fs.h"
#include "kubelet/record_text.h"
#include "kubelet/records.h"
#include "temp_dir.h"

namespace prefetch::tests::verdict_reader_test {
namespace {

using kubelet::FileNameFor;
using kubelet::RecordsAccess;
using kubelet::VerdictReason;
using kubelet::VerdictResult;
using std::chrono::seconds;

const std::string kApp = "r.io/team/app:v1";
const std::string kOther = "r.io/team/other:v1";
const std::string kId = "sha256:aaa";
const std::string kOtherId = "sha256:bbb";

class VerdictReaderTest : public testing::Test {
 protected:
  VerdictReaderTest() {
    std::filesystem::create_directories(dir_ / "image_manager/pulled");
    std::filesystem::create_directories(dir_ / "image_manager/pulling");
  }

  kubelet::VerdictReading Read(kubelet::FileChanges changes = {}) {
    return reader_.Read(images_, possible_, std::move(changes));
  }
  static kubelet::FileChanges All() { return {.all = true, .names = {}}; }
  // As kubelet does: a file beside it, renamed.
  void Replace(const std::string& path, const std::string& content) {
    ASSERT_TRUE(base::WriteFileAtomically(path, content, 0600));
  }
  std::string RecordPath(const std::string& id) { return dir_ / ("image_manager/pulled/" + FileNameFor(id)); }
  std::string IntentPath(const std::string& image) {
    return dir_ / ("image_manager/pulling/" + FileNameFor(image));
  }

  TempDir dir_;
  kubelet::VerdictReader reader_{dir_.path()};
  std::vector<kubelet::ImageOnNode> images_ = {{kApp, kId}, {kOther, kOtherId}};
  std::vector<kubelet::KubeletSettings> possible_ = {{.version = {1, 36}}};
};

// One image, judged for several pods (readyAs).
TEST_F(VerdictReaderTest, EachPodHasItsOwnVerdict) {
  const image::PodCredentialRefs with{.secrets = {{"", "team", "pull"}}, .service_account = {}};
  const image::PodCredentialRefs other{.secrets = {{"", "team", "other"}}, .service_account = {}};
  images_ = {{kApp, kId}, {kApp, kId, with}, {kApp, kId, other}};
  Replace(RecordPath(kId), RecordText(kId, "r.io/team/app", kSecretEntry));
  kubelet::VerdictReading reading = Read(All());
  ASSERT_EQ(reading.verdicts.size(), 3u);
  EXPECT_EQ(reading.verdicts[0]->never.reason, VerdictReason::kRecordedForOthers);
  EXPECT_EQ(reading.verdicts[1]->never.reason, VerdictReason::kAssumedForPod);
  EXPECT_EQ(reading.verdicts[2]->never.reason, VerdictReason::kRecordedForOthers);
  Replace(RecordPath(kId),
          RecordText(kId, "r.io/team/app",
                     R"({"kubernetesSecrets":[{"uid":"u2","namespace":"team","name":"other"}]})"));
  reading = Read({.all = false, .names = {FileNameFor(kId)}});
  EXPECT_EQ(reading.verdicts[1]->never.reason, VerdictReason::kRecordedForOthers);
  EXPECT_EQ(reading.verdicts[2]->never.reason, VerdictReason::kAssumedForPod);
}

TEST_F(VerdictReaderTest, NothingIsReadAgainWhileNothingChanges) {
  kubelet::VerdictReading first = Read();
  kubelet::VerdictReading second = Read();
  EXPECT_EQ(second.files_read, 0u);
  EXPECT_EQ(second.verdicts, first.verdicts) << "the same objects";
}

TEST_F(VerdictReaderTest, ARecordThatComesIsFoundThoughNobodyToldOfIt) {
  Read();
  Replace(RecordPath(kId), RecordText(kId, "r.io/team/app", kSecretEntry));
  kubelet::VerdictReading reading = Read();
  EXPECT_EQ(reading.files_read, 1u);
  EXPECT_TRUE(reading.files_changed[0]);
  EXPECT_FALSE(reading.files_changed[1]);
  EXPECT_EQ(reading.verdicts[0]->never.reason, VerdictReason::kRecordedForOthers);
  EXPECT_EQ(reading.verdicts[0]->never.result, VerdictResult::kRefused);
}

TEST_F(VerdictReaderTest, AFileWrittenInPlaceIsReadWhenItIsNamed) {
  Replace(RecordPath(kId), RecordText(kId, "r.io/team/app", kSecretEntry));
  Read();
  dir_.Write("image_manager/pulled/" + FileNameFor(kId), RecordText(kId, "r.io/team/app", kOpenEntry));
  EXPECT_EQ(Read().files_read, 0u) << "the folder has not changed";
  kubelet::VerdictReading reading = Read({.all = false, .names = {FileNameFor(kId)}});
  EXPECT_EQ(reading.files_read, 1u);
  EXPECT_EQ(reading.verdicts[0]->never.reason, VerdictReason::kOpenToNode);
}

TEST_F(VerdictReaderTest, ANameOfAnotherImageReadsNothing) {
  Read();
  EXPECT_EQ(Read({.all = false, .names = {FileNameFor("sha256:fff")}}).files_read, 0u);
}

// A kubelet of 1.37 or later may keep records of kinds that are not known here (K52).
TEST_F(VerdictReaderTest, AFileInAFolderThatIsNotKnownMakesItsImageUnknown) {
  EXPECT_EQ(Read().verdicts[0]->never.reason, VerdictReason::kPreloaded);
  std::filesystem::create_directories(dir_ / "image_manager/observed-preloaded");
  EXPECT_EQ(Read().verdicts[0]->never.reason, VerdictReason::kPreloaded) << "it says nothing of this image";
  dir_.Write("image_manager/observed-preloaded/" + FileNameFor(kId), "{}");
  kubelet::VerdictReading reading = Read();
  EXPECT_EQ(reading.verdicts[0]->never.reason, VerdictReason::kPreloaded) << "1.36 does not look there";
  possible_ =
      *kubelet::PossibleSettings({.version = image::KubeletVersion{1, 37}, .configuration_known = true});
  reader_.Forget();
  reading = Read();
  EXPECT_EQ(reading.verdicts[0]->never.result, kubelet::VerdictResult::kUnknown);
  EXPECT_EQ(reading.verdicts[0]->never.reason, VerdictReason::kRecordUnreadable);
  EXPECT_EQ(reading.verdicts[1]->never.reason, VerdictReason::kPreloaded) << "another image";
  std::filesystem::remove(dir_ / ("image_manager/observed-preloaded/" + FileNameFor(kId)));
  EXPECT_EQ(Read().verdicts[0]->never.reason, VerdictReason::kPreloaded);
}

TEST_F(VerdictReaderTest, AnIntentIsAPullUnderWay) {
  Read();
  Replace(IntentPath(kApp), IntentText(kApp));
  kubelet::VerdictReading reading = Read();
  EXPECT_TRUE(reading.pull_under_way[0]);
  EXPECT_FALSE(reading.pull_under_way[1]);
  EXPECT_EQ(reading.verdicts[0]->never.reason, VerdictReason::kPullInterrupted);
  std::filesystem::remove(IntentPath(kApp));
  reading = Read();
  EXPECT_FALSE(reading.pull_under_way[0]);
  EXPECT_EQ(reading.verdicts[0]->never.reason, VerdictReason::kPreloaded);
}

TEST_F(VerdictReaderTest, AnIntentThatCannotBeReadIsNotAbsent) {
  std::filesystem::create_symlink(FileNameFor(kApp), IntentPath(kApp));  // a link to itself: ELOOP
  kubelet::VerdictReading reading = Read();
  EXPECT_EQ(reading.verdicts[0]->never.result, VerdictResult::kUnknown);
  EXPECT_EQ(reading.verdicts[0]->never.reason, VerdictReason::kRecordUnreadable);
  EXPECT_EQ(reading.verdicts[1]->never.reason, VerdictReason::kPreloaded);
}

TEST_F(VerdictReaderTest, AnotherImageIdIsAnotherRecord) {
  Replace(RecordPath(kOtherId), RecordText(kOtherId, "r.io/team/app", kSecretEntry));
  Read();
  images_[0].image_id = kOtherId;
  EXPECT_EQ(Read().verdicts[0]->never.reason, VerdictReason::kRecordedForOthers);
  images_[0].image_id.clear();
  EXPECT_EQ(Read().verdicts[0]->never.reason, VerdictReason::kImageAbsent);
}

TEST_F(VerdictReaderTest, TheSameImageTwiceIsReadOnce) {
  images_ = {{kApp, kId}, {kApp, kId}};
  kubelet::VerdictReading reading = Read();
  EXPECT_EQ(reading.files_read, 1u);
  EXPECT_EQ(reading.verdicts[0], reading.verdicts[1]);
}

TEST_F(VerdictReaderTest, TheFolderMayBeAbsentOrComeLater) {
  std::filesystem::remove_all(dir_ / "image_manager");
  EXPECT_EQ(Read().access, RecordsAccess::kNoFolder);
  std::filesystem::create_directories(dir_ / "image_manager/pulled");
  Replace(RecordPath(kId), RecordText(kId, "r.io/team/app", kSecretEntry));
  kubelet::VerdictReading reading = Read();
  EXPECT_EQ(reading.access, RecordsAccess::kReadable);
  EXPECT_EQ(reading.verdicts[0]->never.reason, VerdictReason::kRecordedForOthers);
}

// HasChanged sees all that makes another reading, except files written in place: the watch names those.
TEST_F(VerdictReaderTest, AGlanceTellsThatAFolderHasMoved) {
  const std::string manager = dir_ / "image_manager";
  struct Case {
    const char* name;
    std::function<void()> act;
  };
  const std::vector<Case> cases = {
      {"a record comes", [&] { Replace(RecordPath(kId), RecordText(kId, "r.io/team/app", kSecretEntry)); }},
      {"a record goes", [&] { std::filesystem::remove(RecordPath(kId)); }},
      {"an intent comes", [&] { Replace(IntentPath(kApp), "{}"); }},
      {"a folder that is not known", [&] { std::filesystem::create_directory(manager + "/new"); }},
      {"a file in it", [&] { Replace(manager + "/new/x", "{}"); }},
      {"one folder goes", [&] { std::filesystem::remove_all(manager + "/pulling"); }},
      {"all go", [&] { std::filesystem::remove_all(manager); }},
      {"it comes back", [&] { std::filesystem::create_directories(manager + "/pulled"); }},
      {"the root is away", [&] { std::filesystem::rename(dir_.path(), dir_.path() + ".away"); }},
      {"the root is back", [&] { std::filesystem::rename(dir_.path() + ".away", dir_.path()); }},
  };
  EXPECT_TRUE(reader_.HasChanged()) << "nothing was read yet";
  for (const Case& each : cases) {
    // So that whatever comes or goes in a folder gives it another time.
    for (const char* folder : {"", "/pulled", "/pulling", "/new"}) {
      std::error_code absent;
      std::filesystem::last_write_time(manager + folder, {}, absent);
    }
    Read();
    EXPECT_FALSE(reader_.HasChanged()) << each.name;
    each.act();
    EXPECT_TRUE(reader_.HasChanged()) << each.name;
  }
}

TEST_F(VerdictReaderTest, RecordsOfOthersCostNothing) {
  for (int i = 0; i < 500; i++) {
    std::string id = "sha256:" + std::to_string(i);
    std::ofstream(RecordPath(id)) << RecordText(id, "r.io/x", kOpenEntry);
  }
  EXPECT_EQ(Read(All()).files_read, 2u);
}

// Reports of RecordWatch about real folders.

// Changes that the watch has reported so far, for a test that waits for them.
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

TEST_F(RecordWatchTest, ARootThatComesBackIsWatched) {
  const auto all = [](const auto& changes) { return changes.all; };
  MakeFolders();
  Start();
  std::filesystem::rename(dir_.path(), dir_.path() + ".away");
  EXPECT_TRUE(heard_.Until(all));
  heard_.Forget();
  std::filesystem::rename(dir_.path() + ".away", dir_.path());
  EXPECT_TRUE(heard_.Until(all));
  heard_.Forget();
  dir_.Write("image_manager/pulled/sha256-6", "x");
  EXPECT_TRUE(
      heard_.Until([](const auto& changes) { return changes.all || changes.names.contains("sha256-6"); }));
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
}  // namespace prefetch::tests::verdict_reader_test
