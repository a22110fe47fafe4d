#include "agent/runtime_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "fakes/fake_clock.h"
#include "fakes/fake_image_service.h"
#include "fakes/serial_image_service.h"
#include "rows.h"
#include "temp_dir.h"

namespace prefetch::agent::observe_test {
namespace {

using image::LocalImage;
using std::chrono::seconds;
using tests::FakeClock;
using tests::FakeImageService;
using tests::Persona;

// A runtime that lists what it is told to.
class Listing final : public tests::SerialImageService {
 public:
  std::vector<LocalImage> images;
  std::uint64_t generation = 0;
  int restarts_in_list = 0;  // calls that find another process

  cri::CallResult<image::RuntimeInfo> Connect(const base::Call&) override {
    return image::RuntimeInfo{"listing", std::to_string(generation), {}};
  }
  std::uint64_t Generation() override { return generation; }
  cri::CallResult<std::vector<LocalImage>> ListImages(const base::Call&) override {
    if (restarts_in_list > 0) {
      restarts_in_list--;
      generation++;
    }
    return images;
  }
  cri::CallResult<std::optional<cri::ImageDetails>> ImageStatus(const base::Call&,
                                                                const std::string&) override {
    return std::optional<cri::ImageDetails>();
  }
  cri::CallResult<std::string> PullImage(const base::Call&, const cri::PullRequest&) override {
    return std::string();
  }
  cri::CallResult<std::vector<cri::ImageFilesystem>> ImageFsInfo(const base::Call&) override {
    return std::vector<cri::ImageFilesystem>();
  }
};

LocalImage App(const std::string& name) {
  return {.id = "sha256:" + name,
          .repo_tags = {"r.io/" + name + ":v1", "r.io/" + name + ":v2"},
          .repo_digests = {"r.io/" + name + "@sha256:1"},
          .size_bytes = 5,
          .pinned = false};
}

Observer ObserverOf(
    Listing& runtime, DiskProbe disk = [](const std::string&) { return plan::DiskSpace{}; }) {
  static tests::FakeClock clock;
  static tests::FakeImageService other(clock, tests::Persona::kCrio);  // which has no content API
  return Observer(runtime, other, std::move(disk), image::Platform::Host(), {});
}

// containerd lists its images in any order: each answer is a walk over a map.
TEST(Observer, AnotherOrderIsNoChange) {
  Listing runtime;
  runtime.images = {App("a"), App("b"), App("c")};
  Observer observer = ObserverOf(runtime);
  EXPECT_FALSE(observer.Poll({}, {}, false, {}).unchanged);
  while (std::next_permutation(runtime.images.begin(), runtime.images.end(),
                               [](const LocalImage& a, const LocalImage& b) { return a.id < b.id; })) {
    EXPECT_TRUE(observer.Poll({}, {}, false, {}).unchanged);
  }
}

TEST(Observer, ASignDuringTheLookIsOne) {
  Listing runtime;
  Observer observer = ObserverOf(runtime);
  EXPECT_FALSE(observer.Poll({}, {}, false, {}).unchanged);
  runtime.restarts_in_list = 1;
  RuntimePoll poll = observer.Poll({}, {}, false, {});
  ASSERT_TRUE(poll.connected);
  EXPECT_EQ(poll.connected->version, "1");
  EXPECT_FALSE(poll.unchanged);
  EXPECT_TRUE(observer.Poll({}, {}, false, {}).unchanged);
}

// As a network filesystem whose server is gone.
TEST(Observer, ADiskThatDoesNotAnswerHoldsNoLook) {
  Listing runtime;
  std::promise<void> end;
  std::shared_future<void> answers = end.get_future().share();
  std::atomic<bool> hangs = false;
  Observer observer =
      ObserverOf(runtime, WithDeadline([&, answers](const std::string&) {
                   if (hangs) answers.wait();
                   return plan::DiskSpace{.known = true, .capacity_bytes = 10, .available_bytes = 5};
                 }));
  EXPECT_EQ(observer.Poll({}, {}, false, {}).disk.available_bytes, 5U);
  hangs = true;
  for (int i = 0; i < 2; i++) {
    const RuntimePoll poll = observer.Poll({}, {}, false, {});
    EXPECT_FALSE(poll.error);
    EXPECT_EQ(poll.disk.available_bytes, 5U) << "as measured last";
  }
  end.set_value();
}

// Workers of pulls ask, too, and may join a measurement that is under way.
TEST(WithDeadline, EachOfSeveralThreadsGetsAMeasurement) {
  for (int round = 0; round < 50; round++) {
    const DiskProbe probe = WithDeadline([](const std::string&) {
      return plan::DiskSpace{.known = true, .capacity_bytes = 10, .available_bytes = 5};
    });
    std::atomic<int> known = 0;
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 4; i++) threads.emplace_back([&] { known += probe("/disk").known ? 1 : 0; });
    }
    EXPECT_EQ(known, 4);
  }
}

struct Difference {
  std::string name;
  std::function<void(std::vector<LocalImage>&)> make;
};

TEST_TABLE(ObserverTells, ThatSomethingHasChanged, Difference) {
  Listing runtime;
  runtime.images = {App("a"), App("b")};
  Observer observer = ObserverOf(runtime);
  plan::ImageList list;
  EXPECT_FALSE(observer.Poll({}, list, false, {}).unchanged);
  EXPECT_TRUE(observer.Poll({}, list, false, {}).unchanged);
  EXPECT_FALSE(observer.Poll({}, list, true, {}).unchanged) << "it was asked for in full";
  row.make(runtime.images);
  EXPECT_FALSE(observer.Poll({}, list, false, {}).unchanged);
  EXPECT_TRUE(observer.Poll({}, list, false, {}).unchanged);
}

TEST_ROWS(RuntimePoll, ObserverTells, {"Came", [](auto& images) { images.push_back(App("c")); }},
          {"Went", [](auto& images) { images.pop_back(); }},
          {"AllWent", [](auto& images) { images.clear(); }},
          {"OtherId", [](auto& images) { images[0].id = "sha256:c"; }},
          {"TagMoved",
           [](auto& images) {
             images[1].repo_tags.push_back(images[0].repo_tags.back());
             images[0].repo_tags.pop_back();
           }},
          {"TagsSwapped", [](auto& images) { std::swap(images[0].repo_tags, images[1].repo_tags); }},
          {"IdsSwapped", [](auto& images) { std::swap(images[0].id, images[1].id); }},
          {"TagIsADigestNow",
           [](auto& images) {
             images[0].repo_digests.insert(images[0].repo_digests.begin(), images[0].repo_tags.back());
             images[0].repo_tags.pop_back();
           }},
          {"OtherDigest", [](auto& images) { images[1].repo_digests = {"r.io/b@sha256:2"}; }},
          {"OtherSize", [](auto& images) { images[0].size_bytes = 6; }},
          {"Pinned", [](auto& images) { images[1].pinned = true; }});

// In real time, but for the fake's own.
TEST(ImageWatch, AFloodIsToldFourTimesASecondAtMost) {
  FakeClock clock;
  FakeImageService runtime(clock, Persona::kContainerd23);
  std::atomic<int> told = 0;
  const auto started = std::chrono::steady_clock::now();
  ImageWatch watch(runtime, [&] { told++; });
  const auto patience = started + std::chrono::seconds(20);
  const tests::FakeImage image = tests::MakeImage("r.io/a:v1", 1000);
  while (told < 4 && std::chrono::steady_clock::now() < patience) runtime.Preload(image);
  EXPECT_GE(told, 4);
  EXPECT_GE(std::chrono::steady_clock::now() - started, std::chrono::milliseconds(750));
}

// It tells at its beginning too: nobody heard what happened while there was none.
TEST(ImageWatch, AStreamThatBreaksIsAskedForAgain) {
  FakeClock clock;
  FakeImageService runtime(clock, Persona::kContainerd16);
  std::atomic<int> told = 0;
  const auto started = std::chrono::steady_clock::now();
  ImageWatch watch(runtime, [&] { told++; });
  const auto patience = started + std::chrono::seconds(20);
  while (told < 1 && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
  runtime.SetRuntimeUp(false);
  runtime.SetRuntimeUp(true);
  while (told < 2 && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
  EXPECT_GE(told, 2);
  EXPECT_GE(std::chrono::steady_clock::now() - started, std::chrono::seconds(1));
}

TEST(ImageWatch, ItEndsAtOnceWhereNothingHappens) {
  FakeClock clock;
  for (Persona persona : {Persona::kContainerd23, Persona::kCrio}) {
    FakeImageService runtime(clock, persona);
    const auto started = std::chrono::steady_clock::now();
    {
      ImageWatch watch(runtime, [] {});
    }
    EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(5));
  }
}

class StaleMountsTest : public testing::Test {
 protected:
  std::string Deleted(const std::string& file) const { return "1 2 3:4 /a//deleted " + file + " rw\n"; }
  void Mounts(const std::string& lines) { dir_.Write("mountinfo", lines); }
  // Returns the problems that a poll finds this long after the first one.
  std::vector<std::string> Problems(seconds at) { return mounts_.Poll(base::TimePoint(seconds(1000) + at)); }
  std::vector<std::string> Told() const {
    return {file_ +
            " was replaced on the node, and the agent still has the old file mounted: restart the agent's "
            "pod, and mount the folder instead of the file"};
  }

  tests::TempDir dir_;
  std::string file_ = dir_.Write("config.json", "{}");
  StaleMounts mounts_{dir_ / "mountinfo"};
};

TEST_F(StaleMountsTest, AreTold) {
  Mounts(Deleted(file_) + Deleted(dir_.path()));
  EXPECT_EQ(Problems(seconds(0)), Told()) << "files alone";
}

TEST_F(StaleMountsTest, AreLookedForEveryHalfMinute) {
  Mounts("");
  EXPECT_TRUE(Problems(seconds(0)).empty());
  Mounts(Deleted(file_));
  EXPECT_TRUE(Problems(seconds(29)).empty()) << "a node has thousands of mounts";
  EXPECT_EQ(Problems(seconds(30)), Told());
  Mounts("");
  EXPECT_EQ(Problems(seconds(59)), Told());
  EXPECT_TRUE(Problems(seconds(60)).empty());
}

TEST_F(StaleMountsTest, AreNotLookedForWithoutAList) {
  Mounts(Deleted(file_));
  EXPECT_TRUE(StaleMounts("").Poll(base::TimePoint(seconds(1))).empty());
}

}  // namespace
}  // namespace prefetch::agent::observe_test
